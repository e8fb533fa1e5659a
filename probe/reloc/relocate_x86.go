package reloc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// Relocate rewrites the instructions that cover the first need bytes (5, for
// jmp rel32) of the function at from to run at to. code is the function's
// bytes and what follows it: 16 bytes more than need are enough, and 64 when
// the function is shorter than need. size is its length when known (0:
// unknown). It refuses with a reason rather than guess.
//
// The reasons: an instruction whose length is not known for certain, or that
// depends on its address in a way that cannot be carried over; an int3, which
// is someone else's breakpoint; a target out of reach from to; a branch into
// the covered bytes, BranchesInto being the other half of that check; a call
// that would return into them; a function shorter than need that is not
// followed by padding.
func Relocate(code []byte, size int, from, to addr.Run, need int) (Prologue, error) {
	if need <= 0 {
		return Prologue{}, fmt.Errorf("prologue of %d bytes", need)
	}
	c, err := cover(code, size, from, need)
	if err != nil {
		return Prologue{}, err
	}
	p := Prologue{Covered: c.covered}
	w := writer{to: to}
	at := 0
	for _, i := range c.live {
		if at > 0 {
			p.Moves = append(p.Moves, Move{at, len(w.code)})
		}
		if err := checkTarget(i, from, at, c.covered); err != nil {
			return Prologue{}, fmt.Errorf("instruction at +%d: %w", at, err)
		}
		if err := w.instruction(i, from+addr.Run(at)); err != nil {
			return Prologue{}, fmt.Errorf("instruction at +%d: %w", at, err)
		}
		at += len(i.raw)
	}
	last := c.live[len(c.live)-1].form
	p.Calls = last == call || last == callMemory
	if !p.Calls && last != leaves && last != jump {
		if err := w.branch([]byte{0xe9}, from+addr.Run(c.covered)); err != nil {
			return Prologue{}, fmt.Errorf("jump back: %w", err)
		}
	}
	p.Code = w.code
	return p, nil
}

// A cut is the beginning of a function that a patch replaces.
type cut struct {
	live    []instruction // those that run, in order
	covered int           // bytes of them, and of the padding behind
}

// cover reads the instructions of the first need bytes.
func cover(code []byte, size int, from addr.Run, need int) (cut, error) {
	var c cut
	for c.covered < need {
		i, err := decode(code[min(c.covered, len(code)):])
		if err != nil {
			return c, fmt.Errorf("instruction at +%d: %w", c.covered, err)
		}
		end := c.covered + len(i.raw)
		switch {
		case size > 0 && end > size:
			return c, fmt.Errorf("instruction at +%d: beyond the function's %d bytes", c.covered, size)
		case i.form == breakpoint:
			return c, fmt.Errorf("instruction at +%d: int3, a breakpoint of someone else", c.covered)
		case i.form == immovable:
			return c, fmt.Errorf("instruction at +%d: % x depends on where it lies", c.covered, i.raw)
		case (i.form == call || i.form == callMemory) && end < need:
			return c, fmt.Errorf("instruction at +%d: call returns into the bytes to replace", c.covered)
		}
		c.live = append(c.live, i)
		c.covered = end
		if i.form == leaves || i.form == jump {
			break
		}
	}
	if c.covered >= need {
		return c, nil
	}
	end, err := pad(code, c.covered, size, from, need)
	c.covered = end
	return c, err
}

// pad is the end of the padding at n, which reaches at least to need. The function's last
// instruction, or one behind which it continues elsewhere, ends at n.
//
// Nops within the function's size are its own. Behind its end, or where that is
// not known, they are taken for padding only when they fill all up to a
// multiple of 16: nops that do not may be the beginning of the next function,
// which -fpatchable-function-entry makes of nops.
func pad(code []byte, n, size int, from addr.Run, need int) (int, error) {
	end := 0 // the first boundary at or behind need
	for start := n; end == 0 || end > size && n%16 != 0; {
		i, err := decode(code[min(n, len(code)):])
		filler := i.form == padding || i.form == breakpoint && size > 0 && n >= size
		if err != nil || !filler {
			return 0, fmt.Errorf("function leaves after %d bytes, and what follows is not padding", start)
		}
		n += len(i.raw)
		if end == 0 && n >= need {
			end = n
		}
	}
	if end > size && from%16 != 0 {
		return 0, errors.New("function is too short, and not aligned, so that another may follow at once")
	}
	return end, nil
}

// checkTarget refuses instruction i at from+at when it refers to the covered
// bytes: a branch would land in the patch, an address of a label there would
// be one of the patch. A call of the entry is a recursion, and the address of
// the entry is the function's own.
func checkTarget(i instruction, from addr.Run, at, covered int) error {
	target, ok := i.refersTo(from + addr.Run(at))
	if !ok {
		return nil
	}
	switch offset := target - from; {
	case offset > 0 && offset < addr.Run(covered):
		return fmt.Errorf("% x refers to +%d, which is replaced", i.raw, offset)
	case offset == 0 && (i.form == jump || i.form == condition || i.form == loop):
		return errors.New("loop to the entry")
	}
	return nil
}

// A writer collects the code for address to.
type writer struct {
	to   addr.Run
	code []byte
}

// branch appends a branch to target: opcode, then rel32.
func (w *writer) branch(opcode []byte, target addr.Run) error {
	w.code = append(w.code, opcode...)
	w.code = append(w.code, 0, 0, 0, 0)
	return w.link(len(w.code)-4, target)
}

// link makes the displacement in the last instruction, whose 4 bytes are at index at of the code,
// refer to target.
func (w *writer) link(at int, target addr.Run) error {
	d := int64(target - w.to - addr.Run(len(w.code)))
	if d != int64(int32(d)) {
		return fmt.Errorf("%v is out of reach from %v", target, w.to)
	}
	binary.LittleEndian.PutUint32(w.code[at:], uint32(d))
	return nil
}

// instruction appends one that is at at.
func (w *writer) instruction(i instruction, at addr.Run) error {
	target, _ := i.refersTo(at)
	opcode := i.raw[i.opcode:]
	switch i.form {
	case jump:
		return w.branch([]byte{0xe9}, target)
	case condition:
		code := opcode[0] // 0x70 + cc rel8, 0x0f 0x80 + cc rel32
		if code == 0x0f {
			code = opcode[1]
		}
		return w.branch([]byte{0x0f, 0x80 | code&15}, target)
	case loop:
		// There is no form with rel32: to the jmp rel32, or jmp over it.
		w.code = append(w.code, i.raw[:len(i.raw)-1]...)
		w.code = append(w.code, 2, 0xeb, 5)
		return w.branch([]byte{0xe9}, target)
	case call:
		w.push(at + addr.Run(len(i.raw)))
		return w.branch([]byte{0xe9}, target)
	case callMemory:
		w.push(at + addr.Run(len(i.raw)))
		return w.branch([]byte{0xff, 0x25}, target) // jmp *rel32(%rip)
	}
	start := len(w.code)
	w.code = append(w.code, i.raw...)
	if i.disp == 0 {
		return nil
	}
	return w.link(start+i.disp, target)
}

// push appends what pushes v as a call does, without changing flags: there is
// no push of 64 bits.
func (w *writer) push(v addr.Run) {
	w.code = append(w.code, 0x48, 0x8d, 0x64, 0x24, 0xf8) // lea -8(%rsp), %rsp
	w.code = append(w.code, 0xc7, 0x04, 0x24)             // movl $low, (%rsp)
	w.code = binary.LittleEndian.AppendUint32(w.code, uint32(v))
	w.code = append(w.code, 0xc7, 0x44, 0x24, 0x04) // movl $high, 4(%rsp)
	w.code = binary.LittleEndian.AppendUint32(w.code, uint32(v>>32))
}
