package filter

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hdb/internal/cond"
)

// maxCode bounds a program, in bytes. A condition that needs more is decided outside.
const maxCode = 4096

// A Program is machine code, as the package comment says what it does.
type Program struct {
	Code   []byte
	Match  []int // offsets in Code of the 32-bit fields of jumps to the match label
	Exact  bool  // what it lets through holds: nothing is left to decide outside
	Never  bool  // nothing comes through, Code is empty
	Always bool  // everything comes through, Code is one jump

	refs []reference // to memory nearby
}

// Compile compiles a condition for the place that ops describes. Without
// condition, n nil, all events come through.
func Compile(n cond.Node, ops Operands) Program {
	if n == nil {
		return everything(true)
	}
	tree := ops.fold(n, false)
	exact := len(tree.outside) == 0
	switch tree.kind {
	case never:
		return nothing()
	case always:
		return everything(exact)
	}
	code, matches, refs := generate(tree)
	if len(code) > maxCode {
		return everything(false)
	}
	return Program{Code: code, Match: matches, Exact: exact, refs: refs}
}

func nothing() Program { return Program{Exact: true, Never: true} }

func everything(exact bool) Program {
	var a assembler
	a.jump(ccAlways, match)
	code, matches, _ := a.link()
	return Program{Code: code, Match: matches, Exact: exact, Always: true}
}

// Any lets through what one of the programs does, which share the point they
// are for. It is Exact if all are; of no programs it is one that lets nothing
// through.
func Any(ps ...Program) Program {
	some := Program{Exact: true}
	for _, p := range ps {
		if p.Always && p.Exact {
			return everything(true)
		}
		some.Exact = some.Exact && p.Exact
		some.Always = some.Always || p.Always
		for _, m := range p.Match {
			some.Match = append(some.Match, len(some.Code)+m)
		}
		for _, r := range p.refs {
			some.refs = append(some.refs, reference{len(some.Code) + r.at, len(some.Code) + r.end, r.address})
		}
		some.Code = append(some.Code, p.Code...)
	}
	switch {
	case some.Always || len(some.Code) > maxCode:
		return everything(false)
	case len(some.Code) == 0:
		return nothing()
	}
	return some
}

// Link is the code as it has to be at an address, with its jumps to another
// one; that and memory which is Near must be within 2 GiB.
func (p Program) Link(at, match uint64) ([]byte, error) {
	code := slices.Clone(p.Code)
	lead := func(field, end int, to uint64) error {
		distance := int64(to - (at + uint64(end)))
		if distance != int64(int32(distance)) {
			return fmt.Errorf("link filter: %#x is not within 2 GiB of %#x", to, at)
		}
		binary.LittleEndian.PutUint32(code[field:], uint32(distance))
		return nil
	}
	for _, m := range p.Match {
		if err := lead(m, m+4, match); err != nil {
			return nil, err
		}
	}
	for _, r := range p.refs {
		if err := lead(r.at, r.end, r.address); err != nil {
			return nil, err
		}
	}
	return code, nil
}

// Describe tells which names of a condition are decided in the process, where ops describe, and
// which outside: "size in the process, func() outside". A name is in both lists if it narrows in
// the process and is asked again outside, or if it occurs twice. The lists are in order of
// appearance, without doubles. Without ops everything but the stack and thread names is taken to be
// known in the process.
func Describe(n cond.Node, ops ...Operands) (inProcess, outside []string) {
	if n == nil {
		return nil, nil
	}
	if len(ops) == 0 {
		ops = []Operands{anywhere(Yes), anywhere(No)}
	}
	var in, out []string
	for _, o := range ops {
		tree := o.fold(n, false)
		if Compile(n, o).Always && tree.kind != always { // for its size
			tree.inside, tree.outside = nil, names(n)
		}
		in, out = append(in, tree.inside...), append(out, tree.outside...)
	}
	for _, name := range names(n) {
		if slices.Contains(in, name) {
			inProcess = append(inProcess, name)
		}
		if slices.Contains(out, name) {
			outside = append(outside, name)
		}
	}
	return inProcess, outside
}

// anywhere are operands of a function that has every field and all names, or none.
func anywhere(is Verdict) Operands {
	return Operands{
		Number:     func(f cond.Field) (Value, bool) { return At(Reg(RDI)), f != cond.Thread },
		Is:         func(string) Verdict { return is },
		Thread:     Reg(RDI),
		ThreadCell: func(num uint64) (uint64, bool) { return num, true },
	}
}
