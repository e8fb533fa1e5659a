package file

import (
	"fmt"
	"io"
	"os"

	"hdb/capture"
)

// keptPayloads is how many bytes of encoded events a Log keeps in memory before
// it spills: a short session needs no file.
const keptPayloads = 16 << 20

// A store is a file for what a log spills.
type store interface {
	io.ReaderAt
	io.WriterAt
}

// createStore creates a file in the directory for temporary files that has no name any more: it is
// gone when the process is, however that ends, and its room is free when the log is garbage.
func createStore() (store, error) {
	f, err := os.CreateTemp("", "hdb-log-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// A spill takes payloads out of memory as long as the disk can. Only the jobs of
// a Log's queue write to it.
type spill struct {
	create func() (store, error)
	keep   int64 // bytes that stay in memory
	kept   int64
	store  store // nil until something is spilled
	size   int64
	err    error // why payloads stay in memory
}

// add moves the block's payload to the file if there are enough in memory. The
// payload in memory is a copy without spare room.
func (s *spill) add(b *eventBlock, payload []byte) {
	if s.kept+int64(len(payload)) > s.keep && s.err == nil {
		if s.err = s.write(payload); s.err == nil {
			b.store, b.offset, b.length = s.store, s.size, len(payload)
			s.size += int64(len(payload))
			return
		}
		s.err = fmt.Errorf("log: events stay in memory: %w", s.err)
	}
	s.kept += int64(len(payload))
	b.payload = append(make([]byte, 0, len(payload)), payload...)
}

func (s *spill) write(payload []byte) (err error) {
	if s.store == nil {
		if s.store, err = s.create(); err != nil {
			return err
		}
	}
	_, err = s.store.WriteAt(payload, s.size)
	return err
}

// An eventBlock is the payload of a chunk of events, in memory or spilled.
type eventBlock struct {
	head    eventHead
	totals  capture.Totals // after its events
	after   heapState
	payload []byte // nil if it is in the store
	store   store
	offset  int64
	length  int
}

// load is the payload, which is not to be changed.
func (b *eventBlock) load() ([]byte, error) {
	if b.store == nil {
		return b.payload, nil
	}
	payload := make([]byte, b.length)
	if _, err := readFull(b.store, payload, b.offset); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	return payload, nil
}
