package reloc

import (
	"encoding/binary"
	"fmt"

	"hdb/internal/addr"
)

// BranchesInto is an error when the body of the function at from has, or may
// have, a branch to an address in (from, from+covered), or takes the address
// of a label there: such a function cannot be patched. Where the function's
// size is not known, body is a window of it; some KiB are enough in practice.
//
// A branch to from itself is none of these: a loop to the entry, or a tail
// call of itself, meets the patch as any other call does.
//
// Branches through tables cannot be seen. That is accepted because compilers
// make table entries of switch cases and computed gotos, and the first few
// bytes of a function are neither: it must compute the index first.
func BranchesInto(body []byte, from addr.Run, covered int) error {
	s := sweep{part: body, at: from, from: from, covered: covered}
	if err := s.far(); err != nil {
		return err
	}
	return s.near()
}

// BranchesFrom is the same for code at at that is not the function's body: the
// part of it that seldom runs and was put elsewhere (malloc.cold), or all the
// code of the module. glibc's mempcpy jumps to memcpy+3. Only branches of 32
// bits are looked for, which makes it safe to begin anywhere.
func BranchesFrom(code []byte, at, from addr.Run, covered int) error {
	s := sweep{part: code, at: at, from: from, covered: covered}
	return s.far()
}

// A sweep looks for branches of part, which is at at, to between from and from+covered.
type sweep struct {
	part    []byte
	at      addr.Run
	from    addr.Run
	covered int
}

// check refuses the instruction at part[n:] when it refers to target.
func (s *sweep) check(n int, target addr.Run) error {
	if offset := target - s.from; offset > 0 && offset < addr.Run(s.covered) {
		return fmt.Errorf("code at %v may branch to +%d, which is replaced", s.at+addr.Run(n), offset)
	}
	return nil
}

// far looks for displacements of 32 bits. It takes every byte for the start of
// an instruction, so that it depends on no other's length: that bytes which
// are none agree in the 4 bytes of a displacement does not happen.
func (s *sweep) far() error {
	for n := range s.part {
		rest := s.part[n:]
		var at int // index in rest of the displacement
		switch {
		case rest[0] == 0xe8, rest[0] == 0xe9: // call, jmp
			at = 1
		case len(rest) < 2:
			return nil
		case rest[0] == 0x0f && rest[1]&0xf0 == 0x80, // jcc
			rest[0] == 0x8d && rest[1]&0xc7 == 0x05, // lea rel32(%rip)
			rest[0] == 0xc7 && rest[1] == 0xf8:      // xbegin
			at = 2
		default:
			continue
		}
		if len(rest) < at+4 {
			continue
		}
		rel := int32(binary.LittleEndian.Uint32(rest[at:]))
		if err := s.check(n, s.at+addr.Run(n+at+4)+addr.Run(rel)); err != nil {
			return err
		}
	}
	return nil
}

// near looks for displacements of 8 bits, instruction by instruction from the
// entry on: bytes that look like such a branch are common. From the first
// instruction on that is not known, every byte is taken for a start.
func (s *sweep) near() error {
	known := true
	for n := 0; n < len(s.part) && n < s.covered+128; {
		if known {
			i, err := decode(s.part[n:])
			if err == nil {
				if target, ok := i.refersTo(s.at + addr.Run(n)); ok {
					if err := s.check(n, target); err != nil {
						return err
					}
				}
				n += len(i.raw)
				continue
			}
			known = false
		}
		if rest := s.part[n:]; len(rest) >= 2 && isShort(rest[0]) {
			if err := s.check(n, s.at+addr.Run(n+2)+addr.Run(int8(rest[1]))); err != nil {
				return err
			}
		}
		n++
	}
	return nil
}

// isShort reports whether b is the opcode of a branch with rel8.
func isShort(b byte) bool { return b&0xf0 == 0x70 || b == 0xeb || b >= 0xe0 && b <= 0xe3 }
