package heap

import (
	"testing"

	"hdb/capture"
	"hdb/capture/file"
)

// A poolLog is a recording of mappings and of blocks that are in them.
type poolLog struct {
	*file.Log
	ledger *Ledger
	last   uint64 // event
}

func newPoolLog() *poolLog {
	l := &poolLog{Log: file.NewLog(capture.Info{}), ledger: NewLedger()}
	l.Intern(capture.Stack{})
	return l
}

func (l *poolLog) add(function string, e capture.Event) {
	if function == "pool_get" {
		for _, chunk := range l.ledger.Pooled(&e) {
			chunk.Func = l.FuncIndex(capture.PoolChunk)
			l.last = l.AddEvent(&chunk)
		}
	}
	e.Func, e.Stack, e.Seq = l.FuncIndex(function), 1, l.last+1
	l.ledger.Post(&e, true)
	l.last = l.AddEvent(&e)
}

func (l *poolLog) get(page, bytes uint64) {
	l.add("pool_get", capture.Event{Kind: capture.Alloc, Addr: page << 12, Size: bytes})
}

// TestPooledMappings has blocks of the program's own allocator in mappings, which count in place of these: before the
// first block, too.
func TestPooledMappings(t *testing.T) {
	const page = 4096
	for _, c := range []struct {
		name   string
		events func(l *poolLog)
		mapped []uint64 // that count after each event, in pages
		peak   uint64
	}{
		{"cut up", func(l *poolLog) {
			l.add("mmap", mmaps(16, 16, readWrite))
			l.get(16, 3*page)
			l.get(19, page)
		}, []uint64{0, 0, 0, 0}, 4 * page},
		{"used in part, beside one of the program", func(l *poolLog) {
			l.add("mmap", mmaps(16, 16, readWrite))
			l.add("mmap", mmaps(64, 2, readWrite))
			l.get(31, page)
		}, []uint64{0, 2, 2, 2}, 3 * page},
		{"given back, and mapped by the program", func(l *poolLog) {
			l.add("mmap", mmaps(16, 16, readWrite))
			l.get(16, page)
			l.add("munmap", munmaps(16, 16))
			l.add("mmap", mmaps(16, 2, readWrite))
		}, []uint64{0, 0, 0, 0, 2}, 3 * page},
		{"a block in two", func(l *poolLog) {
			l.add("sbrk", mmaps(16, 1, 0))
			l.add("sbrk", mmaps(17, 1, 0))
			l.get(16, 2*page)
		}, []uint64{0, 0, 0, 0, 0}, 2 * page},
		{"moved", func(l *poolLog) {
			l.add("mmap", mmaps(16, 4, readWrite))
			l.get(16, page)
			l.add("mremap", mremaps(16, 4, 64, 8))
			l.get(65, page)
		}, []uint64{0, 0, 0, 0, 0}, 2 * page},
		{"reserved and committed", func(l *poolLog) {
			l.add("mmap", mmaps(16, 64, noAccess))
			l.add("mprotect", mprotects(16, 4, capture.ProtRead|capture.ProtWrite))
			l.get(16, page)
			l.add("mprotect", mprotects(20, 4, capture.ProtRead|capture.ProtWrite))
		}, []uint64{0, 0, 0, 0, 4}, 5 * page},
		{"a block of malloc", func(l *poolLog) {
			l.add("mmap", mmaps(16, 4, readWrite))
			l.add("malloc", capture.Event{Kind: capture.Alloc, Addr: 32 << 12, Size: page})
		}, []uint64{4, 4}, 5 * page},
	} {
		l := newPoolLog()
		c.events(l)
		x, err := NewIndex(l)
		if err != nil {
			t.Fatal(err)
		}
		x.CountMappings(func(p *Mapping) bool { return !p.Pool })
		for i, want := range c.mapped {
			got := uint64(0)
			x.Mappings(uint64(i + 1)).Each(func(p Mapping) bool {
				if !p.Pool && p.Mode.Accessible() {
					got += (p.High - p.Low) / page
				}
				return true
			})
			if got != want {
				t.Errorf("%s: %d pages are mapped after event %d, want %d", c.name, got, i+1, want)
			}
		}
		if n := x.Last(); n != uint64(len(c.mapped)) {
			t.Errorf("%s: %d events, want %d", c.name, n, len(c.mapped))
		}
		if _, peak := x.Peak(); peak != c.peak {
			t.Errorf("%s: the peak is %d bytes, want %d", c.name, peak, c.peak)
		}
	}
}
