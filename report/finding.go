package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"hdb/internal/lazyregexp"
	"hdb/internal/units"
)

// A finding is what stacks with the same functions, which meet in the same line of
// the user's, have of a measure.
type finding struct {
	stack       *Stack // the one with most of it
	weight      uint64 // of the measure
	blocks      uint64 // in it, if it counts bytes
	mapped      uint64 // of the weight, what was mapped and is in no block
	fingerprint string
	line        int // of the user's
	stacks      int
	most        uint64 // of one of them
}

// others says that the stack which represents a finding is one of several, "" if it is not.
func (f *finding) others(p *Profile, unit string) string {
	if f.stacks == 1 {
		return ""
	}
	most := p.Units.Long(f.most)
	if unit != "bytes" {
		most = units.Count(f.most, "block")
	}
	return fmt.Sprintf(" from %s, %s of it from this one", units.Count(f.stacks, "stack"), most)
}

// findings gathers the stacks by what weigh describes them, bytes or whatever and blocks, the
// heaviest first. Stacks that weigh nothing are left out.
func (p *Profile) findings(weigh func(i int, st *Stack) (weight, blocks uint64)) []finding {
	all := p.gather(weigh, true)
	number(all)
	sortFindings(all)
	return all
}

// gather is findings without an order; without lines, those with the same functions are one.
func (p *Profile) gather(weigh func(i int, st *Stack) (weight, blocks uint64), lines bool) []finding {
	type key struct {
		fingerprint, file string
		line              int
	}
	index := map[key]int{}
	var all []finding
	for i := range p.Stacks {
		st := &p.Stacks[i]
		weight, blocks := weigh(i, st)
		if weight == 0 && blocks == 0 {
			continue
		}
		k := key{fingerprint: p.fingerprint(st)}
		line := 0
		if f := p.site(st); f != nil {
			line = f.Line
			if lines {
				k.file, k.line = f.File, f.Line
			}
		}
		at, ok := index[k]
		if !ok {
			at = len(all)
			index[k] = at
			all = append(all, finding{stack: st, fingerprint: k.fingerprint, line: line, most: weight})
		}
		f := &all[at]
		f.stacks++
		f.weight += weight
		f.blocks += blocks
		if st.Mapped {
			f.mapped += weight
		}
		if weight > f.most {
			f.stack, f.most = st, weight
		}
	}
	return all
}

// sortFindings puts the heaviest first.
func sortFindings(all []finding) {
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.fingerprint, b.fingerprint))
	})
}

// number tells findings with the same functions apart, by the order of their lines:
// which one stays the same when lines are added above.
func number(all []finding) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].fingerprint, all[b].fingerprint), cmp.Compare(all[a].line, all[b].line))
	})
	last, n := "", 0
	for _, i := range order {
		if f := &all[i]; f.fingerprint != last {
			last, n = f.fingerprint, 1
		} else {
			n++
		}
		all[i].fingerprint = fmt.Sprintf("%s:%d", last, n)
	}
}

// rustHash is what legacy mangling ends Rust's names with: it differs from build to
// build.
var rustHash = lazyregexp.New(`::h[0-9a-f]{16}$`)

// fingerprint names the functions of a stack, from the user's innermost one to
// main, and is the same for the next build of the program: it has no addresses, no
// lines, none of the allocator's functions and how often a function called itself.
func (p *Profile) fingerprint(st *Stack) string {
	sum := sha256.New()
	last := ""
	own := func(i int) bool { return !p.Frames[i].Library }
	for _, i := range st.Frames[max(0, slices.IndexFunc(st.Frames, own)):] {
		f := &p.Frames[i]
		name := rustHash().ReplaceAllString(f.Function, "")
		if f.Unnamed || strings.HasPrefix(name, "0x") { // nothing is known but where it is
			name = "?"
			if f.Module >= 0 && f.Module < len(p.Modules) {
				name = path.Base(p.Modules[f.Module].Path)
			}
		}
		if name == last {
			continue
		}
		last = name
		fmt.Fprintf(sum, "%s\n", name)
		if name == "main" {
			break // who calls it is the C library's affair
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// frameNames is a frame as people read it: function, and where that is.
func (p *Profile) frameNames(f *Frame) (function, where string) {
	function = f.Function
	if f.Inlined {
		function += " [inlined]"
	}
	switch {
	case f.File != "" && f.Line > 0:
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	case f.Module >= 0 && f.Module < len(p.Modules):
		where = "[" + path.Base(p.Modules[f.Module].Path) + "]"
	}
	return function, where
}
