package python

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/lines"
)

// A Body is a code object with its instructions and the lines that they begin.
type Body struct {
	*Code
	*lines.Map
	Start addr.Run // of the first instruction
}

// Bodies reads code objects with their instructions, and finds them in memory.
type Bodies struct {
	in       *Interpreter
	function addr.Run // PyFunction_Type
	known    map[addr.Run]*Body
}

// NewBodies is for the code objects of an interpreter.
func NewBodies(in *Interpreter, symbols Symbols) *Bodies {
	b := &Bodies{in: in, known: map[addr.Run]*Body{}}
	b.function, _ = symbols("PyFunction_Type") // without it, functions up to 3.10 have no qualified names
	return b
}

// maxBodies bounds the code objects that are kept.
const maxBodies = 1 << 14

// At is the code object at an address, as it is now.
func (b *Bodies) At(at addr.Run) (*Body, error) {
	if b.in.tables > maxTables/2 || len(b.known) > maxBodies {
		clear(b.in.codes)
		clear(b.known)
		b.in.tables = 0
	}
	code, err := b.in.code(at)
	if err != nil {
		return nil, err
	}
	if k := b.known[at]; k != nil && k.Code == code {
		return k, nil
	}
	k := &Body{Code: code, Start: code.bytecode}
	c := lines.Code{Minor: code.minor, FirstLine: code.FirstLine, Table: code.table, FirstTraceable: code.firstTraceable * instructionSize}
	l := &b.in.layout.Code
	if l.Bytecode != 0 {
		object, err := b.in.mem.Field(at, l.Bytecode)
		if err != nil {
			return nil, err
		}
		k.Start = object + addr.Run(b.in.layout.Bytes.Data)
		c.Bytecode, err = b.in.mem.Bytes(object)
		if err != nil {
			return nil, fmt.Errorf("code object of %s: instructions: %w", code.Name, err)
		}
	} else {
		n, err := b.in.mem.Count(at) // in words
		if err != nil {
			return nil, err
		}
		if n > maxTable/instructionSize {
			return nil, fmt.Errorf("code object of %s: %d instructions", code.Name, n)
		}
		if c.Bytecode, err = b.in.mem.Read(k.Start, int(n)*instructionSize); err != nil {
			return nil, fmt.Errorf("code object of %s: instructions: %w", code.Name, err)
		}
		object, err := b.in.mem.Field(at, l.Exceptions)
		if err != nil {
			return nil, err
		}
		if c.Exceptions, err = b.in.mem.Bytes(object); err != nil {
			return nil, fmt.Errorf("code object of %s: exceptions: %w", code.Name, err)
		}
	}
	k.Map, _ = lines.New(c)
	if k.Map == nil {
		return nil, &VersionError{b.in.version}
	}
	b.known[at] = k
	return k, nil
}

// Still reports whether a code object is what it was when it was read.
func (b *Bodies) Still(k *Body) bool {
	now, err := b.At(k.At)
	return err == nil && (now == k || now.stamp == k.stamp && now.Start == k.Start)
}

// maxNestedCode bounds the depth of code objects in others, maxConsts the constants of one,
// maxTreeConsts those of all in a tree: each is asked for its type while a thread is held.
const (
	maxNestedCode = 64
	maxConsts     = 1 << 16
	maxTreeConsts = 1 << 18
)

// A Named is a code object with the qualified name of its function, "" if it is not known.
type Named struct {
	At       addr.Run
	Qualname string
}

// Tree is a code object with those that it has among its constants, and these have in turn.
func (b *Bodies) Tree(root addr.Run) (all []Named) {
	seen := map[addr.Run]bool{}
	left := maxTreeConsts
	var visit func(at addr.Run, qualname string, depth int)
	visit = func(at addr.Run, qualname string, depth int) {
		if seen[at] || depth > maxNestedCode || len(all) >= maxBodies {
			return
		}
		seen[at] = true
		all = append(all, Named{at, qualname})
		inner := "" // of a module
		if depth > 0 && b.isFunction(at) {
			inner = qualname + ".<locals>."
		} else if depth > 0 {
			inner = qualname + "." // of a class
		}
		for _, c := range b.consts(at, &left) {
			name, err := b.in.text(c, b.in.layout.Code.Name)
			if err != nil {
				continue
			}
			visit(c, inner+name, depth+1)
		}
	}
	visit(root, "<module>", 0)
	return all
}

// text is the text of a str object that a struct points to.
func (in *Interpreter) text(at addr.Run, field int) (string, error) {
	p, err := in.mem.Field(at, field)
	if err != nil {
		return "", err
	}
	return in.mem.Text(p)
}

// isFunction tells the code of a function from a class's: CO_NEWLOCALS and CO_OPTIMIZED.
func (b *Bodies) isFunction(at addr.Run) bool {
	const optimized = 1
	n, err := b.in.mem.Word(at + addr.Run(b.in.layout.Code.Flags))
	return err == nil && n&optimized != 0
}

// consts are the code objects among the constants of one, as far as some are left to be looked at.
func (b *Bodies) consts(at addr.Run, left *int) (all []addr.Run) {
	tuple, err := b.in.mem.Field(at, b.in.layout.Code.Consts)
	if err != nil {
		return nil
	}
	n, err := b.in.mem.Count(tuple)
	if err != nil {
		return nil
	}
	items, err := b.in.mem.Read(tuple+addr.Run(b.in.layout.Tuple.Items), 8*int(min(n, maxConsts, uint64(*left))))
	if err != nil {
		return nil
	}
	*left -= len(items) / 8
	for i := 0; i < len(items); i += 8 {
		c := pointerIn(items, i)
		if t, err := b.in.mem.Field(c, b.in.layout.Object.Type); err == nil && t == b.in.codeType {
			all = append(all, c)
		}
	}
	return all
}

// A Region is memory, [Low, High).
type Region struct{ Low, High addr.Run }

// scanPart is how much memory is searched at once, a multiple of what objects are aligned to.
const scanPart = 1 << 20

// Scan finds the code objects in memory that objects may be in: those that are referred to, in whatever way. ended
// tells, now and then, that it has been given up. Those of functions up to 3.10 have the qualified names of these.
func (b *Bodies) Scan(regions []Region, ended func() bool) (all []Named) {
	l, f, typeAt := &b.in.layout.Code, b.function, b.in.layout.Object.Type
	names := map[addr.Run]string{}
	buf := make([]byte, scanPart+l.Size)
	for _, r := range regions {
		for at := r.Low; at < r.High && !ended(); at += scanPart {
			n := min(int(r.High-at), len(buf))
			got, _ := b.in.mem.ReadAt(buf[:n], int64(at)) // what cannot be read has none
			part := buf[:got]
			for i := typeAt; i+8 <= len(part) && i < scanPart+typeAt; i += 8 {
				switch t := pointerIn(part, i); {
				case t == 0:
				case t == b.in.codeType:
					if isReferred(part, i-typeAt) && len(all) < 1<<20 {
						all = append(all, Named{At: at + addr.Run(i-typeAt)})
					}
				case t == f && l.Qualname == 0 && isReferred(part, i-typeAt):
					b.nameOf(at+addr.Run(i-typeAt), names)
				}
			}
		}
	}
	for i := range all {
		all[i].Qualname = names[all[i].At]
	}
	return all
}

// isReferred tells objects from what was left of some: those have no references. It is
// 32 bits, and what is freed has a pointer or nothing in its place.
func isReferred(b []byte, at int) bool {
	n := uint64(pointerIn(b, at))
	return n > 0 && n <= 1<<32-1
}

// nameOf notes the qualified name of a function's code object.
func (b *Bodies) nameOf(function addr.Run, names map[addr.Run]string) {
	code, err := b.in.mem.Field(function, b.in.layout.Function.Code)
	if err != nil || names[code] != "" {
		return
	}
	if name, err := b.in.text(function, b.in.layout.Function.Qualname); err == nil && !strings.ContainsRune(name, 0) {
		names[code] = name
	}
}
