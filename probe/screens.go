package probe

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/filter"
	"hdb/probe/reloc"
)

// Screens makes the code in front of breakpoints that asks what can be asked of their conditions in
// the process. It has memory of its own there, which stays: threads may be in it at any time. It
// needs nothing else of the probe.
type Screens struct {
	p       *inferior.Process
	islands []*island
}

// NewScreens makes none yet.
func NewScreens(p *inferior.Process) *Screens { return &Screens{p: p} }

// Process is the process whose breakpoints they are for.
func (s *Screens) Process() *inferior.Process { return s.p }

// A Screened is a breakpoint in front of which code is to be put.
type Screened struct {
	At        addr.Run
	Module    inferior.Module
	Low, High addr.Run       // the code of its function
	Asks      filter.Program // made of registers and memory as they are at At
}

// ErrNoScreen is why a breakpoint has no code in front of it.
var ErrNoScreen = errors.New("the condition is evaluated outside of the process")

// The most code that is searched for branches into what a jump replaces.
const (
	longestFunction = 1 << 20
	longestCode     = 64 << 20
)

// Make writes the code for a breakpoint. t is a stopped thread, which maps memory for it
// if there is none. Errors are ErrNoScreen's with a reason.
func (s *Screens) Make(t *inferior.Thread, b Screened) (*inferior.Screen, error) {
	sc, err := s.build(t, b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoScreen, err)
	}
	return sc, nil
}

func (s *Screens) build(t *inferior.Thread, b Screened) (*inferior.Screen, error) {
	if err := refusal(s.p, ringSize, false); err != nil { // it takes too little to ask how much memory may be locked
		return nil, err
	}
	code, err := s.movable(b)
	if err != nil {
		return nil, err
	}
	is, err := s.island(t, b.Module)
	if err != nil {
		return nil, err
	}
	at := is.next()
	over := at + addr.Run(len(b.Asks.Code)) // what holds for no thread falls off the end of the tests
	moved, err := reloc.Relocate(code, int(b.High-b.At), b.At, over, jumpSize)
	switch {
	case err != nil:
		return nil, err
	case moved.Calls:
		return nil, errors.New("a call would be replaced")
	}
	hit := over + addr.Run(len(moved.Code))
	asks, err := b.Asks.Link(uint64(at), uint64(hit))
	if err != nil {
		return nil, err
	}
	w := &writer{at: hit + 1}
	w.jmp(over)
	jump := &writer{at: b.At}
	jump.jmp(at)
	if err := errors.Join(w.errs, jump.errs); err != nil {
		return nil, err
	}
	sc := &inferior.Screen{
		Jump: jump.code, At: at, Code: append(append(append(asks, moved.Code...), nop), w.code...),
		Hit: hit, Over: over, Moves: map[addr.Run]addr.Run{},
	}
	for _, m := range moved.Moves {
		sc.Moves[b.At+addr.Run(m.From)] = over + addr.Run(m.To)
	}
	if n := len(moved.Code) - jumpSize; n >= 0 {
		end := b.At + addr.Run(moved.Covered)
		back := &writer{at: over + addr.Run(n)}
		if back.jmp(end); bytes.Equal(back.code, moved.Code[n:]) { // else the last instruction leads elsewhere
			sc.Moves[end] = over + addr.Run(n)
		}
	}
	for n := 0; n < len(asks); {
		in, err := x86asm.Decode(asks[n:], 64)
		if err != nil {
			return nil, err
		}
		sc.Tests = append(sc.Tests, at+addr.Run(n))
		n += in.Len
	}
	if _, err := is.take(len(sc.Code)); err != nil {
		return nil, err
	}
	if _, err := s.p.WriteAt(sc.Code, int64(at)); err != nil {
		return nil, err
	}
	return sc, nil
}

const nop = 0x90

// movable is the code at the breakpoint, if the first instructions there may be replaced
// by a jump and what asks may change the flags.
func (s *Screens) movable(b Screened) ([]byte, error) {
	if b.At < b.Low || b.At >= b.High || b.High-b.Low > longestFunction {
		return nil, errors.New("the code of its function is unknown")
	}
	const padding = 64 // behind a function that is shorter than a jump
	code := make([]byte, b.High-b.Low+padding)
	n, err := s.p.ReadAt(code, int64(b.Low))
	if n < int(b.High-b.Low) {
		return nil, err
	}
	body, rest := code[:b.High-b.Low], code[b.At-b.Low:n]
	moved, err := reloc.Relocate(rest, int(b.High-b.At), b.At, b.At, jumpSize)
	switch {
	case err != nil:
		return nil, err
	case moved.Covered > int(b.High-b.At) && b.At != b.Low:
		return nil, errors.New("the function ends too soon")
	}
	if err := reloc.BranchesInside(body, b.Low, b.At, moved.Covered); err != nil {
		return nil, err
	}
	if b.At != b.Low && !reloc.FlagsUnused(rest) {
		return nil, errors.New("the flags may be in use there")
	}
	return rest, s.branches(b, moved.Covered)
}

// branches is an error if code elsewhere in the module may branch into the bytes.
func (s *Screens) branches(b Screened, covered int) error {
	maps, err := s.p.Maps()
	if err != nil {
		return err
	}
	low, high := executable(maps, b.Module)
	if high-low > longestCode {
		return fmt.Errorf("%d MiB of code are not searched for branches", (high-low)>>20)
	}
	code := make([]byte, high-low)
	n, _ := s.p.ReadAt(code, int64(low)) // what is not mapped has no branches
	return reloc.BranchesFrom(code[:n], low, b.At, covered)
}

// island is memory that code of the module can jump to and back.
func (s *Screens) island(t *inferior.Thread, m inferior.Module) (*island, error) {
	for _, i := range s.islands {
		if i.near(m.Low, m.High) && i.hasRoom() && s.stillMapped(i) {
			return i, nil
		}
	}
	i, err := newIsland(s.p, &caller{t: t}, m.Low, m.High)
	if err != nil {
		return nil, err
	}
	at, err := i.take(len(screensName))
	if err != nil {
		return nil, err
	}
	if _, err := s.p.WriteAt([]byte(screensName), int64(at)); err != nil {
		return nil, err
	}
	s.islands = append(s.islands, i)
	return i, nil
}

// screensName begins the memory, so that it is known for what it is.
const screensName = "hdb: conditions\x00"

// stillMapped reports whether the memory is in the process still, which may have become another one.
func (s *Screens) stillMapped(i *island) bool {
	b := make([]byte, len(screensName))
	_, err := s.p.ReadAt(b, int64(i.base))
	return err == nil && bytes.Equal(b, []byte(screensName))
}
