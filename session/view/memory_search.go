package view

import (
	"bytes"

	"hdb/internal/addr"
	"hdb/values"
)

// searchPart is the bytes of memory that are searched at once.
const searchPart = 256 << 10

// Search calls found with each place where the memory has the pattern, until found or ended says
// that it is enough. An error is about memory which cannot be read; what is before it was searched.
func (m *Memory) Search(s values.Search, found func(addr.Run) (more bool), ended func() bool) error {
	if err := m.target.Readable(); err != nil {
		return err
	}
	for s.Len >= uint64(len(s.Pattern)) && !ended() {
		n := min(s.Len, uint64(searchPart+len(s.Pattern)-1))
		b, err := m.Read(s.Start, int(n))
		for at := 0; ; {
			i := bytes.Index(b[at:], s.Pattern)
			if i < 0 {
				break
			}
			if !found(s.Start + addr.Run(at+i)) {
				return nil
			}
			at += i + 1
		}
		if err != nil {
			return err
		}
		step := n - uint64(len(s.Pattern)) + 1
		s.Start, s.Len = s.Start+addr.Run(step), s.Len-step
	}
	return nil
}

// Write writes bytes into the process's memory.
func (m *Memory) Write(a addr.Run, b []byte) error {
	if err := m.target.Live(); err != nil {
		return err
	}
	_, err := m.target.Proc.WriteAt(b, int64(a))
	m.sel.WalkAgain()
	return err
}
