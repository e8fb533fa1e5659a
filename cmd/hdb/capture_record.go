package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hdb/capture"
	"hdb/session"
)

// bounds keep the file of hdb record small.
type bounds struct {
	maxSize   int64         // the recording ends when the file is so long
	ring      int64         // bytes of the last events that are kept
	last      time.Duration // that the last events which are kept span
	aggregate bool
}

// check finds bounds that contradict one another.
func (b *bounds) check() error {
	switch {
	case b.aggregate && (b.ring > 0 || b.last > 0):
		return fmt.Errorf("record: --aggregate keeps no events, --ring and --last the last ones: %w", errRecordUsage)
	case b.maxSize > 0 && (b.ring > 0 || b.last > 0):
		return fmt.Errorf("record: --max-size keeps the first events, --ring and --last the last ones: %w", errRecordUsage)
	}
	return nil
}

// drops tells that old events are dropped.
func (b *bounds) drops() bool { return b.ring > 0 || b.last > 0 }

// sizeOf reads a size: bytes, or with K, M, G or T behind, of 1024 each.
func sizeOf(p *int64) func(string) error {
	return func(s string) error {
		number := strings.ToUpper(strings.TrimSpace(s))
		number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "I")
		shift := 0
		if n := len(number); n > 0 {
			if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
				number, shift = number[:n-1], 10*(i+1)
			}
		}
		v, err := strconv.ParseFloat(number, 64)
		size := v * float64(int64(1)<<shift)
		if err != nil || !(size >= 1) || size > 1<<60 {
			return fmt.Errorf("%q is not a size like 64M or 2G: %w", s, errRecordUsage)
		}
		*p = int64(size)
		return nil
	}
}

// bound is the bounds as the session keeps to them; the file is made later.
func (r *recorder) bound() capture.Bound {
	b := &r.o.bounds
	return capture.Bound{Aggregate: b.aggregate, Bytes: b.ring, Last: b.last, Drop: func(offset, length int64) error {
		r.holes = true
		return punch(r.captured, offset, length)
	}}
}

// punch gives the room of a part of the file back, which then reads as zeros:
// fallocate(2).
func punch(f *os.File, offset, length int64) error {
	const keepSize, punchHole = 1, 2 // FALLOC_FL_* of linux/falloc.h
	for {
		err := syscall.Fallocate(int(f.Fd()), keepSize|punchHole, offset, length)
		if err == nil || !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// bounded is the file to record to, under the bounds.
func (r *recorder) bounded(f *os.File) (io.WriteCloser, error) {
	r.captured = f
	b := &r.o.bounds
	switch {
	case b.drops():
		if err := punch(f, 0, 1); err != nil {
			f.Close()
			return nil, createError{fmt.Errorf("%s: --ring and --last need a file in which room can be given back: %w", r.file, err)}
		}
		return &ringFile{r, f}, nil
	case b.maxSize > 0:
		return &fullFile{r: r, File: f}, nil
	}
	return f, nil
}

// fullFile is a file that ends the recording when it is long enough. A Writer's
// goroutine writes it.
type fullFile struct {
	*os.File
	r    *recorder
	size int64
	full bool
}

func (f *fullFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if f.size += int64(n); f.size >= f.r.o.maxSize && !f.full {
		f.full = true
		f.r.full.Store(true)
		go f.r.signals.end() // it may wait for the one that waits for this
	}
	return n, err
}

// ringFile is a file whose old events are dropped. When it is closed, what is left
// becomes a whole capture.
type ringFile struct {
	r *recorder
	*os.File
}

func (f *ringFile) Close() error {
	if err := f.File.Close(); err != nil || !f.r.holes {
		return err
	}
	made, err := capture.Compact(f.r.file)
	if err != nil {
		return fmt.Errorf("%w; %s has holes: hdb capture repair makes a whole capture of it", err, f.r.file)
	}
	f.r.made = &made
	return nil
}

// tellBounds says what the bounds did to the recording, whose status it corrects.
func (r *recorder) tellBounds(st *session.RecordStatus) {
	switch {
	case r.full.Load():
		r.say(fmt.Sprintf("--max-size: %s has %s, and the recording has ended", r.file, shortSize(st.Bytes)))
	case r.made != nil:
		r.say(fmt.Sprintf("the last %s kept of %d: what was allocated before is not in the recording", counted(r.made.Events, "event"), st.Recorded))
		if info, err := os.Stat(r.file); err == nil {
			st.Bytes = info.Size()
		}
	case r.o.aggregate:
		r.say("--aggregate: sums for each stack were kept, and no events")
	}
}
