package cpython

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/units"
	"hdb/python"
	"hdb/query"
	"hdb/session/target"
)

// Regions are the memory where objects of Python may lie: the data of modules, which are in the file as long as
// they are untouched, and what is resident or swapped out of other private mappings. Shared memory is not: what
// hdb itself has in the process is many GiB of addresses.
func Regions(c *target.Target) (all []python.Region) {
	maps, err := c.Proc.Maps()
	if err != nil {
		return nil
	}
	for _, m := range maps {
		if strings.HasPrefix(m.Perm, "rw") && strings.HasSuffix(m.Perm, "p") && !strings.HasPrefix(m.Path, "/dev/") && !strings.HasPrefix(m.Path, "[stack") && !strings.HasPrefix(m.Path, "[v") {
			all = appendTouched(all, c.Proc, m)
		}
	}
	return all
}

// appendTouched adds the parts of a mapping that can be read without making pages in the process.
func appendTouched(all []python.Region, p *inferior.Process, m inferior.Mapping) []python.Region {
	before := len(all)
	module := slices.ContainsFunc(p.Modules(), func(o inferior.Module) bool { return o.Low <= m.Low && m.High <= o.High })
	err := p.Pages(m.Low, m.High, func(r inferior.PageRun) {
		if n := len(all); n > before && all[n-1].High == r.Low {
			all[n-1].High = r.High
			return
		}
		all = append(all, python.Region{Low: r.Low, High: r.High})
	})
	if err != nil || module {
		return append(all[:before], python.Region{Low: m.Low, High: m.High})
	}
	return all
}

// Definition is where a function of Python begins that an interpreter of a stopped process has:
// FUNCTION, CLASS.METHOD or FILE:FUNCTION. Of several it is the first that is found, and others
// tells how many more there are.
func (p *Python) Definition(text string) (file string, line, others int, err error) {
	target, err := python.ParseTarget(text, "")
	if err != nil {
		return "", 0, 0, err
	}
	if err := p.target.Live(); err != nil {
		return "", 0, 0, err
	}
	files, _, err := p.Interpreters()
	if err != nil {
		return "", 0, 0, err
	}
	seen := map[string]bool{}
	for _, f := range files {
		bodies := python.NewBodies(f.In, f.Symbols)
		for _, pl := range bodies.Places(target, bodies.Scan(Regions(p.target), p.target.Reading.GivenUp), query.InPythonLibrary) {
			at := fmt.Sprint(pl.Body.File, ":", pl.Body.FirstLine)
			if len(seen) == 0 {
				file, line = pl.Body.File, pl.Body.FirstLine
			}
			seen[at] = true
		}
	}
	if len(seen) == 0 {
		return "", 0, 0, fmt.Errorf("%s: no such Python function exists in the process", text)
	}
	return file, line, len(seen) - 1, nil
}

// WhyNoPlace says why a stop in Python has no place, if its file is loaded: "" if it is not,
// or nothing runs.
func (p *Python) WhyNoPlace(st *breakpoints.Stop) string {
	if !st.Pending || st.Kind != breakpoints.StopPython || st.File == "" || st.Line == 0 || p.target.Live() != nil {
		return ""
	}
	files, _, err := p.Interpreters()
	if err != nil {
		return ""
	}
	last, name := 0, ""
	for _, f := range files {
		bodies := python.NewBodies(f.In, f.Symbols)
		for _, n := range bodies.Scan(Regions(p.target), p.target.Reading.GivenUp) {
			file := bodies.File(n.At)
			if !TargetOf(st).InFile(file) {
				continue
			}
			if body, err := bodies.At(n.At); err == nil && body.Last() > last {
				last, name = body.Last(), file
			}
		}
	}
	if last == 0 || last >= st.Line {
		return ""
	}
	return fmt.Sprintf("the code of %s that is loaded ends at line %s", filepath.Base(name), units.Grouped(uint64(last)))
}

// TargetOf is what a stop was asked for.
func TargetOf(st *breakpoints.Stop) python.Target {
	return python.Target{File: st.File, Line: st.Line, Function: st.Function}
}
