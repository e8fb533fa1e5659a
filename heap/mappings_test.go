package heap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hdb/capture"
)

// mapped plays calls and tells the mappings: address+size, r for reserved pages, and the event.
func mapped(events ...capture.Event) string {
	var m Mappings
	for i := range events {
		events[i].Seq = uint64(i + 1)
		name := "mmap"
		if events[i].Kind == capture.Map && events[i].Old == 0 && events[i].Aux == 0 {
			name = "sbrk"
		}
		m.Post(&events[i], name)
	}
	return tellMappings(&m)
}

func tellMappings(m *Mappings) string {
	var b strings.Builder
	m.Each(func(p Mapping) bool {
		reserved := ""
		if !p.Mode.Accessible() {
			reserved = "r"
		}
		fmt.Fprintf(&b, " %x+%x%s#%d", p.Low>>12, (p.High-p.Low)>>12, reserved, p.Seq)
		return true
	})
	return strings.TrimPrefix(b.String(), " ")
}

const (
	readWrite = uint64(capture.ProtRead|capture.ProtWrite|capture.MapPrivate|capture.MapAnonymous) | 1<<12
	noAccess  = uint64(capture.MapPrivate | capture.MapAnonymous)
)

func mmaps(page, pages, mode uint64) capture.Event {
	return capture.Event{Kind: capture.Map, Addr: page << 12, Size: pages << 12, Aux: mode}
}

func munmaps(page, pages uint64) capture.Event {
	return capture.Event{Kind: capture.Unmap, Addr: page << 12, Size: pages << 12}
}

func mprotects(page, pages uint64, prot capture.MapMode) capture.Event {
	return capture.Event{Kind: capture.Protect, Addr: page << 12, Size: pages << 12, Aux: uint64(prot)}
}

func mremaps(old, was, page, pages uint64) capture.Event {
	return capture.Event{Kind: capture.Map, Old: old << 12, Aux: was << 12, Addr: page << 12, Size: pages << 12}
}

func TestMappings(t *testing.T) {
	const rw = capture.ProtRead | capture.ProtWrite
	for _, c := range []struct {
		name   string
		events []capture.Event
		want   string
	}{
		{"one", []capture.Event{mmaps(16, 4, readWrite)}, "10+4#1"},
		{"a part of a page", []capture.Event{{Kind: capture.Map, Addr: 16 << 12, Size: 4097, Aux: readWrite}}, "10+2#1"},
		{"huge pages", []capture.Event{{Kind: capture.Map, Addr: 512 << 12, Size: 1, Aux: readWrite | uint64(capture.MapHugeTLB)}}, "200+200#1"},
		{"failed", []capture.Event{{Kind: capture.Map, Size: 4096, Aux: readWrite, Failed: true}}, ""},
		{"all given back", []capture.Event{mmaps(16, 4, readWrite), munmaps(16, 4)}, ""},
		{"more than all", []capture.Event{mmaps(16, 4, readWrite), mmaps(32, 1, readWrite), munmaps(1, 100)}, ""},
		{"the middle", []capture.Event{mmaps(16, 4, readWrite), munmaps(17, 2)}, "10+1#1 13+1#1"},
		{"the ends", []capture.Event{mmaps(16, 4, readWrite), munmaps(16, 1), munmaps(19, 9)}, "11+2#1"},
		{"of two", []capture.Event{mmaps(16, 4, readWrite), mmaps(20, 4, readWrite), munmaps(18, 4)}, "10+2#1 16+2#2"},
		{"over another", []capture.Event{mmaps(16, 4, readWrite), mmaps(17, 1, readWrite)}, "10+1#1 11+1#2 12+2#1"},
		{"over many", []capture.Event{mmaps(16, 1, readWrite), mmaps(18, 1, readWrite), mmaps(20, 1, readWrite), mmaps(15, 9, readWrite)}, "f+9#4"},
		{"grows in place", []capture.Event{mmaps(16, 4, readWrite), mremaps(16, 4, 16, 8)}, "10+8#2"},
		{"shrinks", []capture.Event{mmaps(16, 4, readWrite), mremaps(16, 4, 16, 1)}, "10+1#2"},
		{"moves", []capture.Event{mmaps(16, 4, readWrite), mremaps(16, 4, 64, 8)}, "40+8#2"},
		{"a part moves", []capture.Event{mmaps(16, 4, readWrite), mremaps(17, 1, 64, 2)}, "10+1#1 12+2#1 40+2#2"},
		{"is mapped again", []capture.Event{mmaps(16, 4, readWrite), mremaps(16, 0, 64, 4)}, "10+4#1 40+4#2"},
		{"from before", []capture.Event{mremaps(16, 4, 64, 8)}, "40+8#1"},
		{"reserved", []capture.Event{mmaps(16, 16, noAccess)}, "10+10r#1"},
		{"reserved and moved", []capture.Event{mmaps(16, 16, noAccess), mremaps(16, 16, 64, 8)}, "40+8r#2"},
		{"committed", []capture.Event{mmaps(16, 16, noAccess), mprotects(18, 2, rw)}, "10+2r#1 12+2#2 14+cr#1"},
		{"committed by mmap", []capture.Event{mmaps(16, 16, noAccess), mmaps(18, 2, readWrite)}, "10+2r#1 12+2#2 14+cr#1"},
		{"decommitted", []capture.Event{mmaps(16, 4, readWrite), mprotects(17, 1, 0)}, "10+1#1 11+1r#1 12+2#1"},
		{"read only", []capture.Event{mmaps(16, 4, readWrite), mprotects(16, 4, capture.ProtRead), mprotects(16, 4, rw)}, "10+4#1"},
		{"protects what is not known", []capture.Event{mprotects(16, 4, rw)}, ""},
		{"sbrk", []capture.Event{mmaps(16, 4, 0), mmaps(20, 4, 0), munmaps(22, 2)}, "10+4#1 14+2#2"},
		{"to the end of memory", []capture.Event{mmaps(1<<52-2, 8, readWrite), munmaps(1<<52-1, 1<<51)}, "ffffffffffffe+1#1"},
	} {
		if got := mapped(c.events...); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Versions before 2.1 did not record what mmap maps.
func TestUnknownMappings(t *testing.T) {
	var m Mappings
	m.Post(&capture.Event{Seq: 1, Kind: capture.Map, Addr: 0x10000, Size: 4096}, "mmap")
	if got := tellMappings(&m); got != "" || m.Unknown() != 1 {
		t.Errorf("%q, %d unknown", got, m.Unknown())
	}
}

// Calls at random are the same as page by page.
func TestMappingsRandom(t *testing.T) {
	type page struct {
		seq  uint64
		mode capture.MapMode
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var m Mappings
	told := map[page]uint64{} // pages by what Changed has said
	m.Changed = func(p Mapping, gone bool) {
		if n := (p.High - p.Low) >> 12; gone {
			told[page{p.Seq, p.Mode}] -= n
		} else {
			told[page{p.Seq, p.Mode}] += n
		}
	}
	pages := map[uint64]page{}
	for seq := uint64(1); seq <= 20_000; seq++ {
		var e capture.Event
		low, n := 1+rnd.Uint64N(3000), 1+rnd.Uint64N(20)
		switch rnd.IntN(5) {
		case 0:
			e = munmaps(low, n)
		case 1:
			e = mprotects(low, n, capture.MapMode(rnd.IntN(2)*3))
		case 2:
			e = mremaps(1+rnd.Uint64N(3000), 1+rnd.Uint64N(20), low, n)
		default:
			e = mmaps(low, n, []uint64{readWrite, noAccess}[rnd.IntN(2)])
		}
		e.Seq = seq
		touched := false
		mode := capture.MapMode(e.Aux)
		if e.Old != 0 {
			mode = sbrkMode
			if p, ok := pages[e.Old>>12]; ok {
				mode = p.mode
			}
			for i := range e.Aux >> 12 {
				_, ok := pages[e.Old>>12+i]
				touched = touched || ok
				delete(pages, e.Old>>12+i)
			}
		}
		for i := low; i < low+n; i++ {
			p, ok := pages[i]
			touched = touched || ok
			switch {
			case e.Kind == capture.Unmap:
				delete(pages, i)
			case e.Kind == capture.Map:
				pages[i] = page{seq, mode}
			case ok && mode.Accessible() && !p.mode.Accessible():
				pages[i] = page{seq, p.mode.WithProt(mode)}
			case ok:
				pages[i] = page{p.seq, p.mode.WithProt(mode)}
			}
		}
		if got := m.Touches(&e); got != touched {
			t.Fatalf("#%d %+v: touches %v", seq, e, got)
		}
		m.Post(&e, "mmap")
		if seq%500 != 0 {
			continue
		}
		count, before := 0, uint64(0)
		m.Each(func(p Mapping) bool {
			if p.Low >= p.High || p.Low < before {
				t.Fatalf("#%d: %x-%x behind %x", seq, p.Low, p.High, before)
			}
			before = p.High
			for i := p.Low >> 12; i < p.High>>12; i++ {
				if want, ok := pages[i]; !ok || want != (page{p.Seq, p.Mode}) {
					t.Fatalf("#%d: page %x is of %+v, want %+v %v", seq, i, p, want, ok)
				}
				count++
			}
			return true
		})
		if count != len(pages) {
			t.Fatalf("#%d: %d pages, want %d", seq, count, len(pages))
		}
		for _, p := range pages {
			told[p]--
		}
		for p, n := range told {
			if n != 0 {
				t.Fatalf("#%d: %d pages of %v were not told, or not that they went", seq, int64(n), p)
			}
		}
		for _, p := range pages {
			told[p]++
		}
		for _, l := range m.list {
			if len(l) == 0 || len(l) > maxMappings {
				t.Fatalf("#%d: a list of %d", seq, len(l))
			}
		}
	}
}

func BenchmarkMappings(b *testing.B) {
	var m Mappings
	seq := uint64(0)
	for b.Loop() {
		seq++
		e := mmaps(1+seq*7919%60_000*2, 1, readWrite)
		e.Seq = seq
		m.Post(&e, "mmap")
	}
}
