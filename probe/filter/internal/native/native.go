// Package native runs machine code inside the test process, for tests of the
// code that is made to run inside inferiors. Nothing else imports it.
package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Page is memory that can be written and executed.
type Page struct{ mem []byte }

// Registers are the general registers by number, rsp's place unused, with what is on the stack
// above the return address.
type Registers struct {
	R     [16]uint64
	Stack uint64 // at rsp+8 when the code begins
	Match bool   // out: the code jumped to its match label
}

// What Page.Put adds to the code: its end, where the carry flag says that
// nothing matched, and the match label. The trampoline reads the flag.
var (
	fallOff = []byte{0xf8, 0xc3} // clc; ret
	matched = []byte{0xf9, 0xc3} // stc; ret
)

// NewPage maps a page for code of at most size bytes.
func NewPage(size int) (*Page, error) {
	mem, err := unix.Mmap(-1, 0, size+len(fallOff)+len(matched), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map page of code: %w", err)
	}
	return &Page{mem}, nil
}

// Close unmaps the page.
func (p *Page) Close() error { return unix.Munmap(p.mem) }

// Address is where the code is put.
func (p *Page) Address() uint64 { return Address(p.mem) }

// Address is where memory begins, which must not be Go's: that may move.
func Address(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&mem[0]))) }

// Put makes room for size bytes of code and returns it with the address that is
// its match label.
func (p *Page) Put(size int) (room []byte, match uint64) {
	end := copy(p.mem[size:], fallOff) + size
	copy(p.mem[end:], matched)
	return p.mem[:size], p.Address() + uint64(end)
}

// Run loads the registers, calls the code, and stores what they are then.
func (p *Page) Run(r *Registers) { call(&p.mem[0], r) }

// call is Run's trampoline.
//
//go:noescape
func call(code *byte, r *Registers)
