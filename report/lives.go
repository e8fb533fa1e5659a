package report

import (
	"time"

	"hdb/capture"
)

// A life is what became of the blocks of a row over time.
type life struct {
	bytes, blocks       uint64 // live
	maxBytes, maxBlocks uint64 // when most bytes were
	lived               uint64 // the sum of the lifetimes so far, in microseconds
	last                time.Duration
}

// until counts the time that the live blocks have lived since the last event.
func (l *life) until(t time.Duration) {
	if t > l.last {
		l.lived += l.blocks * uint64((t-l.last)/time.Microsecond)
		l.last = t
	}
}

func (l *life) begin(t time.Duration, size uint64) {
	l.until(t)
	l.bytes += size
	l.blocks++
	if l.bytes > l.maxBytes {
		l.maxBytes, l.maxBlocks = l.bytes, l.blocks
	}
}

func (l *life) end(t time.Duration, size uint64) {
	l.until(t)
	l.bytes -= min(size, l.bytes)
	l.blocks -= min(1, l.blocks)
}

// lives follows all events of a recording up to the time. rows describes each stack to which row it
// belongs.
func (r *Recording) lives(rows map[capture.StackID]int, n int, to time.Duration) []life {
	lives := make([]life, n)
	runs := runs{execs: r.Execs}
	run := int32(0)
	for e := range r.Events {
		if now := runs.of(e.Seq); now != run { // another program: the heap is gone
			run = now
			for i := range lives {
				lives[i].until(e.Time)
				lives[i].bytes, lives[i].blocks = 0, 0
			}
		}
		if e.Ended.Recorded {
			if i, ok := rows[e.Ended.Stack]; ok {
				lives[i].end(e.Time, e.Ended.Size)
			}
		}
		if e.Allocates() {
			if i, ok := rows[e.Stack]; ok {
				lives[i].begin(e.Time, e.Size)
			}
		}
	}
	for i := range lives {
		lives[i].until(to)
	}
	return lives
}
