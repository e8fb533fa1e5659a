package desk

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"hdb/console/shell"
	"hdb/internal/addr"
)

// runEitherWay is run, or shows the memory before the address if that is asked for. The next x then
// continues before the memory shown.
func (x *examiner) runEitherWay() error {
	if !x.m.back {
		return x.run()
	}
	count := x.m.Count
	start, err := x.before()
	if err != nil {
		return err
	}
	x.m.next = start
	err = x.run()
	x.m.next, x.m.Count = start, count
	return err
}

// before is where the units begin that end at the address. There may be fewer than asked
// for, also since no more than maxDisassembled bytes of code are read: the count is made theirs.
func (x *examiner) before() (addr.Run, error) {
	switch x.m.format {
	case 'i':
		return x.instructionsBefore()
	case 's':
		return x.stringsBefore()
	}
	n := addr.Run(x.m.Count * x.m.size)
	if n > x.m.next {
		return 0, fmt.Errorf("x: fewer than %d units before %v", x.m.Count, x.m.next)
	}
	return x.m.next - n, nil
}

// instructionsBefore finds the instructions before the address. x86 code cannot be read
// backwards: each function is read from its entry, and so is the one before it.
func (x *examiner) instructionsBefore() (addr.Run, error) {
	var parts [][]addr.Run // where they begin, by functions, the last one first
	found, end := 0, x.m.next
	for found < x.m.Count && x.m.next-end < MaxDisassembled {
		if x.ctx.Err() != nil {
			return 0, shell.ErrInterrupted
		}
		part, err := x.functionBefore(end)
		if err != nil && found == 0 {
			return 0, fmt.Errorf("x: instructions before %v: %w", end, err)
		}
		if err != nil {
			break
		}
		parts = append(parts, part)
		found += len(part)
		end = part[0]
	}
	slices.Reverse(parts)
	starts := slices.Concat(parts...)
	x.m.Count = min(x.m.Count, found)
	return starts[found-x.m.Count], nil
}

// maxPadding is the most bytes between two functions that are looked through for the end
// of the first one.
const maxPadding = 64

// errNoFunction is the error of an address that no function of reasonable size is before.
var errNoFunction = errors.New("the stack has no function with a known entry to read them at")

// functionBefore lists where the instructions begin that end at the address: those of its
// function, or of the one before it with what fills the gap between.
func (x *examiner) functionBefore(end addr.Run) ([]addr.Run, error) {
	code, err := x.c.Session.Names().Symbols.Code(end - 1)
	for back := addr.Run(2); err != nil && back <= maxPadding && back < end; back++ {
		code, err = x.c.Session.Names().Symbols.Code(end - back)
	}
	if err != nil {
		return nil, err
	}
	low := code.Parts[0].Low
	for _, p := range code.Parts {
		if p.Low < end && p.Low > low {
			low = p.Low
		}
	}
	if end <= low || end-low > MaxDisassembled {
		return nil, errNoFunction
	}
	b, err := x.c.Session.Memory.Read(low, int(end-low)+MaxInstruction-1) // the last one whole
	if len(b) < int(end-low) {
		return nil, err
	}
	var starts []addr.Run
	for _, inst := range DecodeAll(b, low, func(addr.Run) string { return "" }) {
		if inst.Addr < end {
			starts = append(starts, inst.Addr)
		}
	}
	return starts, nil
}

// stringsBefore finds the strings that end before the address.
func (x *examiner) stringsBefore() (addr.Run, error) {
	start := x.m.next
	found := 0
	for ; found < x.m.Count; found++ {
		if x.ctx.Err() != nil {
			return 0, shell.ErrInterrupted
		}
		n := int(min(maxString, uint64(start)))
		b, err := x.c.Session.Memory.Read(start-addr.Run(n), n)
		for err != nil && n > 1 { // the mapping begins behind
			n /= 2
			b, err = x.c.Session.Memory.Read(start-addr.Run(n), n)
		}
		if err != nil || n == 0 {
			break
		}
		start -= addr.Run(len(b) - 1 - bytes.LastIndexByte(b[:len(b)-1], 0))
	}
	if found == 0 {
		return 0, fmt.Errorf("x: no memory before %v", start)
	}
	x.m.Count = found
	return start, nil
}
