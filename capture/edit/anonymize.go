package edit

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// Anonymity says what Anonymize leaves as it is, besides numbers, sizes, times and
// addresses.
type Anonymity struct {
	// KeepFunctions keeps the names of functions.
	KeepFunctions bool
	// Function and File are what has to come before a made-up name so that reports decide the same by
	// it: all of a name that says nothing of the program, as malloc, "" for the program's own. Of a
	// module for which Module is true, all functions keep their names. nil: none.
	Function, File func(name string) string
	Module         func(path string) bool
}

// Anonymize writes the capture with made-up names for the program, its arguments,
// the host, threads, modules, files, functions, marks and stops, the same for what
// has the same name. Source lines, build IDs and the console's lines are left out.
func Anonymize(w io.Writer, f *file.File, a Anonymity) (Copied, error) {
	return copyAll(w, f, newMask(f, a))
}

// A mask is a recording under made-up names.
type mask struct {
	*file.File
	a       Anonymity
	names   map[named]string
	counts  map[string]int // made-up names by their kind
	modules []capture.Module
	info    capture.Info
}

// named is a name and what it is of.
type named struct{ kind, name string }

func newMask(f *file.File, a Anonymity) *mask {
	m := &mask{File: f, a: a, names: map[named]string{}, counts: map[string]int{}, info: f.Info()}
	i := &m.info
	i.Program, i.Host, i.Kernel = m.file("program", i.Program), m.name("host", i.Host), ""
	args := make([]string, len(i.Args))
	for n, arg := range i.Args {
		args[n] = m.name("argument", arg)
	}
	i.Args = args
	partial := i.Partial
	i.Partial = nil
	for _, why := range partial {
		i.AddPartial(capture.Reason{Kind: why.Kind})
	}
	m.modules = f.Modules()
	m.modules = slices.Clone(m.modules)
	for n := range m.modules {
		mod := &m.modules[n]
		kind := "module"
		if mod.Path == f.Info().Program {
			kind = "program"
		}
		mod.Path, mod.BuildID, mod.GoBuildID = m.file(kind, mod.Path), "", ""
	}
	return m
}

// public is what has to come before a made-up name, by f.
func public(f func(string) string, name string) string {
	if f == nil {
		return ""
	}
	return f(name)
}

// name replaces a name of the kind: by the kind and a number from 1.
func (m *mask) name(kind, name string) string {
	if name == "" {
		return ""
	}
	made, ok := m.names[named{kind, name}]
	if !ok {
		m.counts[kind]++
		made = fmt.Sprint(kind, m.counts[kind])
		m.names[named{kind, name}] = made
	}
	return made
}

// endings of files that tell no more than their language.
var endings = []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".rs", ".go", ".py", ".s", ".S", ".so"}

// file replaces a path, and keeps its ending.
func (m *mask) file(kind, name string) string {
	if name == "" {
		return ""
	}
	keep := public(m.a.File, name)
	switch keep {
	case name:
		return name
	case "":
		keep = "/"
	}
	if path.Base(keep) == path.Base(name) { // the file of a runtime, wherever it is
		return keep
	}
	made := keep + m.name(kind, name)
	ending := path.Ext(name)
	if strings.Contains(path.Base(name), ".so.") {
		ending = ".so"
	}
	if slices.Contains(endings, ending) {
		made += ending
	}
	return made
}

func (m *mask) function(name string) string {
	keep := public(m.a.Function, name)
	if m.a.KeepFunctions || keep == name {
		return name
	}
	return keep + m.name("function", name)
}

// ownWords are those with which hdb says why a stack is cut off, without naming anything.
const ownWords = `CFA CFI a above any as at be begun breakpoints by calls cannot capture damaged deeper depth does ended first follow followed for
frame frames full grow had has hdb in inside is its limit lost made module more no none not of over part places plain probe process record region ring
room slow some stack than that the them thread threads too unknown unreadable was which within with could address return reason
before began dropped enough ended events it large older only paused program run started trimmed when were
closed cut end file least may missing off or these
and been blocks freed have high live peak stopped while`

// cut replaces the reason why a stack is cut off that has a word, which may be the name of a
// file, besides hdb's own and numbers.
func (m *mask) cut(text string) string {
	own := strings.Fields(ownWords)
	for _, word := range strings.Fields(text) {
		word = strings.TrimRight(word, ",:")
		if _, err := strconv.ParseUint(word, 0, 64); err != nil && !slices.Contains(own, word) {
			return m.name("reason", text)
		}
	}
	return text
}

func (m *mask) Info() capture.Info        { return m.info }
func (m *mask) Modules() []capture.Module { return m.modules }
func (m *mask) SourceFiles() []string     { return nil }

// Console is nil: whatever was printed may name something.
func (m *mask) Console() []capture.ConsoleLine { return nil }

func (m *mask) SourceLines(string) []capture.Excerpt { return nil }

func (m *mask) Functions() []string {
	names := slices.Clone(m.File.Functions())
	for i := range names {
		names[i] = m.function(names[i])
	}
	return names
}

func (m *mask) Threads() []capture.Thread {
	threads := slices.Clone(m.File.Threads())
	for i := range threads {
		threads[i].Name = m.name("thread", threads[i].Name)
	}
	return threads
}

func (m *mask) Stops() []capture.StopRecord {
	stops := slices.Clone(m.File.Stops())
	for i := range stops {
		stops[i].Text = fmt.Sprint("stop", i+1)
	}
	return stops
}

func (m *mask) Marks() []capture.MarkRecord {
	marks := slices.Clone(m.File.Marks())
	for i := range marks {
		marks[i].Name = m.name("mark", marks[i].Name)
	}
	return marks
}

func (m *mask) Losses() []capture.Loss {
	losses := m.File.Losses()
	for i := range losses {
		losses[i].Reason.Text = ""
	}
	return losses
}

func (m *mask) Stack(id capture.StackID) capture.Stack {
	s := m.File.Stack(id)
	if s.Truncated != capture.MissingStack(id).Truncated {
		s.Truncated = m.cut(s.Truncated)
	}
	return s
}

// Symbol is the chain under made-up names. A linker's name would tell the
// function's.
func (m *mask) Symbol(pc addr.Run, isReturn bool, seq uint64) ([]capture.Frame, bool) {
	chain, ok := m.File.Symbol(pc, isReturn, seq)
	chain = slices.Clone(chain)
	runtime := m.inRuntime(pc, seq)
	for i := range chain {
		f := &chain[i]
		f.File = m.file("file", f.File)
		if !runtime {
			f.Function = m.function(f.Function)
			if !m.a.KeepFunctions {
				f.Linkage = ""
			}
		}
	}
	return chain, ok
}

// inRuntime reports whether the code is in a module of which functions keep their names.
func (m *mask) inRuntime(pc addr.Run, seq uint64) bool {
	return m.a.Module != nil && slices.ContainsFunc(m.File.Modules(), func(mod capture.Module) bool {
		return mod.Holds(pc, seq) && m.a.Module(mod.Path)
	})
}

// GoType is the type under a made-up name, as functions have.
func (m *mask) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	t, ok := m.File.GoType(code, seq, of)
	if !m.a.KeepFunctions {
		t.Name = m.name("type", t.Name)
	}
	return t, ok
}
