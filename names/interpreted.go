package names

import (
	"sync"

	"hdb/capture"
	"hdb/internal/addr"
)

// Interpreted are positions in programs that interpreters run, which stacks of the process have in
// addition to its machine code; see capture.InterpretedAddress. Any goroutine may use it.
type Interpreted struct {
	mu     sync.RWMutex
	frames map[addr.Run]capture.Frame
}

// maxPositions bounds the positions: the memory of the process tells them.
const maxPositions = 1 << 22

// Address is the code address of a position.
func (t *Interpreted) Address(f capture.Frame) addr.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.frames) >= maxPositions {
		f = capture.Frame{Function: "(more functions than hdb keeps)", Source: f.Source, Language: f.Language}
	}
	for n := 0; ; n++ {
		a := capture.InterpretedAddress(&f, n)
		switch known, taken := t.frames[a]; {
		case !taken:
			if t.frames == nil {
				t.frames = map[addr.Run]capture.Frame{}
			}
			t.frames[a] = f
			return a
		case known == f:
			return a
		}
	}
}

// At is the position of a code address.
func (t *Interpreted) At(a addr.Run) (capture.Frame, bool) {
	if !capture.IsInterpreted(a) {
		return capture.Frame{}, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	f, ok := t.frames[a]
	return f, ok
}

// chain is the position as a chain of functions, nil if the code is none.
func (t *Interpreted) chain(c addr.Code) []capture.Frame {
	if f, ok := t.At(c.Addr()); ok {
		return []capture.Frame{f}
	}
	return nil
}
