package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hdb/capture/capturetest"
)

// spillingLog keeps nothing in memory that it can spill.
func spillingLog() *Log {
	log := NewLog(capturetest.SampleInfo)
	log.spill.keep = 0
	return log
}

func TestBlocksAreSpilled(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	log, kept := spillingLog(), NewLog(capturetest.SampleInfo)
	const n = 3*eventsPerChunk + 100
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for r := range uint64(3) {
		readers.Go(func() {
			for from := r; ; from += 9999 {
				select {
				case <-stop:
					return
				default:
				}
				next := max(from, 1)
				for e := range log.Events(from) {
					if e.Seq != next {
						t.Errorf("#%d follows #%d", e.Seq, next-1)
						return
					}
					next++
				}
				from %= uint64(log.Len() + 1)
			}
		})
	}
	capturetest.Fill(log, 1, n)
	log.queue.wait()
	close(stop)
	readers.Wait()
	capturetest.Fill(kept, 1, n)
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("the temporary directory holds %v, %v", names, err)
	}
	for i, b := range log.blocks {
		if b.store == nil || b.payload != nil {
			t.Errorf("block %d is in memory", i)
		}
	}
	if log.blocks == nil || log.spill.kept != 0 {
		t.Errorf("%d blocks, %d bytes are in memory", len(log.blocks), log.spill.kept)
	}
	sameSource(t, log, kept)
	if err := log.Damage(); err != nil {
		t.Error(err)
	}
	var saved bytes.Buffer
	if err := WriteSource(&saved, log, nil); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, saved.Bytes())
	checkWhole(t, f)
	sameSource(t, f, kept)
}

func TestShortLogsNeedNoFile(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	log := NewLog(capturetest.SampleInfo)
	capturetest.Fill(log, 1, 3*eventsPerChunk)
	log.queue.wait()
	if err := log.Damage(); err != nil {
		t.Error(err)
	}
	for i, b := range log.blocks {
		if cap(b.payload) > len(b.payload)*9/8 {
			t.Errorf("block %d has %d bytes in %d", i, len(b.payload), cap(b.payload))
		}
	}
}

// smallStore has room for a number of bytes and fails to read beyond another.
type smallStore struct {
	*os.File
	room, readable int64
}

func (s smallStore) WriteAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > s.room {
		n, _ := s.File.WriteAt(b[:max(s.room-off, 0)], off)
		return n, syscall.ENOSPC
	}
	return s.File.WriteAt(b, off)
}

func (s smallStore) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > s.readable {
		return 0, syscall.EIO
	}
	return s.File.ReadAt(b, off)
}

// When the disk is full, what follows stays in memory, and nothing is lost.
func TestSpillIntoAFullDisk(t *testing.T) {
	for name, create := range map[string]func() (store, error){
		"full from the start": func() (store, error) { return nil, syscall.ENOSPC },
		"full later": func() (store, error) {
			s, err := createStore()
			return smallStore{s.(*os.File), 300_000, 1 << 40}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, kept := spillingLog(), NewLog(capturetest.SampleInfo)
			log.spill.create = create
			const n = 3*eventsPerChunk + 5
			capturetest.Fill(log, 1, n)
			capturetest.Fill(kept, 1, n)
			log.queue.wait()
			sameSource(t, log, kept)
			if err := log.Damage(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "stay in memory") {
				t.Errorf("damage: %v", err)
			}
			if spilled := log.blocks[0].store != nil; spilled != (name == "full later") || log.blocks[len(log.blocks)-1].store != nil {
				t.Errorf("blocks: %d, the first spilled: %v", len(log.blocks), spilled)
			}
		})
	}
}

// What the disk does not give back is missing, and said; the rest can be read
// and saved.
func TestSpillThatCannotBeRead(t *testing.T) {
	log := spillingLog()
	log.spill.create = func() (store, error) {
		s, err := createStore()
		return smallStore{s.(*os.File), 1 << 40, 300_000}, err
	}
	const n = 4*eventsPerChunk + 5
	events := capturetest.SampleEvents(1, n)
	for _, e := range events {
		log.AddEvent(&e)
	}
	log.queue.wait()
	got := slices.Collect(log.Events(0))
	if len(got) < eventsPerChunk || len(got) >= n || got[len(got)-1] != events[n-1] {
		t.Errorf("%d events", len(got))
	}
	if err := log.Damage(); !errors.Is(err, syscall.EIO) {
		t.Errorf("damage: %v", err)
	}
	var saved bytes.Buffer
	if err := WriteSource(&saved, log, nil); err != nil {
		t.Fatal(err)
	}
	sameEvents(t, slices.Collect(readBack(t, saved.Bytes()).Events(0)), got)
}
