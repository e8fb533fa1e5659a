package cpython

import (
	"slices"
	"strconv"
	"strings"

	"hdb/names"
	"hdb/python/cython"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
	"hdb/symbols/dwarf"
)

// Cython shows functions and lines of the sources of Cython, and reads their variables.
type Cython struct {
	target *target.Target
	sel    *view.Selection
	values *variables.Values
	python *Python
}

// NewCython reads them of a target, at what is selected.
func NewCython(t *target.Target, sel *view.Selection, v *variables.Values, p *Python) *Cython {
	return &Cython{t, sel, v, p}
}

// Forget has what Cython has written be looked for again, and functions be named anew.
func (y *Cython) Forget() {
	y.target.Names.Cython.Forget()
	y.sel.WalkAgain()
}

// CythonVariables are the variables of C of a frame by their names in the source, without those
// that Cython has added. Those of another frame are returned as they are.
func CythonVariables(f names.Frame, vars []variables.NamedValue) []variables.NamedValue {
	if f.Language != dwarf.LangCython {
		return vars
	}
	var own []variables.NamedValue
	for _, v := range vars {
		if name, ok := cython.VariableOf(v.Name); ok || v.Name == "" {
			v.Name = name
			own = append(own, v)
		}
	}
	return own
}

// Stack is the selected stack with the functions of Cython and Python alone, and those of C that
// functions of Cython have called by name. why describes a stack in which the functions of Python
// are not known.
func (y *Cython) Stack() (frames []names.Frame, truncated, why string, err error) {
	if err := y.target.Readable(); err != nil {
		return nil, "", "", err
	}
	st, err := y.sel.Stack(0)
	if err != nil {
		return nil, "", "", err
	}
	merged, why := y.python.Merged(st.Frames, MergeHiding)
	for i := range merged {
		if y.relevant(merged, i) {
			frames = append(frames, merged[i])
		}
	}
	return frames, st.Truncated, why, nil
}

// relevant tells a frame of a merged stack that Stack has.
func (y *Cython) relevant(merged []names.Frame, i int) bool {
	f := &merged[i]
	if f.Python() || IsCythonFrame(f) {
		return true
	}
	if i+1 == len(merged) || !IsCythonFrame(&merged[i+1]) {
		return false
	}
	caller := &merged[i+1]
	obj, _ := y.target.Names.Modules.ObjectAt(caller.Code.Lookup())
	d := y.target.Names.Cython.Described(obj, caller.Linkage)
	return d != nil && f.Function != "" && slices.Contains(d.Enters, f.Function)
}

// Up selects the frame of Stack that is n calls further out, inner if it is negative.
func (y *Cython) Up(n int) (f names.Frame, err error) {
	step, left := 1, n
	if n < 0 {
		step, left = -1, -n
	}
	moved := false
	for left > 0 {
		next, err := y.python.Up(step, MergeHiding)
		if err != nil && moved {
			return f, nil // the last one
		}
		if err != nil {
			return f, err
		}
		f, moved = next, true
		merged := y.python.mergeFrames(MergeHiding)
		i := slices.IndexFunc(merged, func(m names.Frame) bool { return m.Num == f.Num && m.Nth == f.Nth && m.Python() == f.Python() })
		if i >= 0 && y.relevant(merged, i) {
			left--
		}
	}
	return f, nil
}

// Location is where a breakpoint shall be that cygdb would take: MODULE:LINE, a function by
// its name in the source or by the last words of it. What is not known yet is returned as it
// is, to wait for its module.
func (y *Cython) Location(text string) ([]string, error) {
	module, line, ok := strings.Cut(text, ":")
	if _, err := strconv.Atoi(line); ok && err == nil {
		if module == "" {
			f, err := y.Selected()
			return []string{f.File + ":" + line}, err
		}
		if file := y.target.Names.Cython.SourceOf(module); file != "" {
			return []string{file + ":" + line}, nil
		}
		if strings.HasSuffix(module, ".pyx") {
			return []string{text}, nil
		}
		return []string{module[strings.LastIndexByte(module, '.')+1:] + ".pyx:" + line}, nil
	}
	var all []string
	for _, p := range y.target.Names.Cython.Functions(text) {
		if name := p.Function; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		all = []string{text}
	}
	return all, nil
}
