// Package capturetest makes recordings for tests: a simulated program with its
// allocator, symbols, and a heap that is followed in the plainest way.
package capturetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
)

// A Simulation is a program and its allocator, roughly as glibc's: last-in
// first-out lists of chunks of one size, else the next address.
type Simulation struct {
	rng   *rand.Rand
	free  map[uint64][]uint64 // chunk size -> addresses
	brk   uint64
	live  []simBlock
	now   time.Duration
	tid   int32
	site  int // where the program is in its habitual round of call sites
	round []simSite
}

type simBlock struct{ addr, chunk uint64 }

type simSite struct {
	stack capture.StackID
	size  uint64
	vary  bool
}

// NewSimulation begins a program; the same seed gives the same one.
func NewSimulation(seed uint64) *Simulation {
	s := &Simulation{
		rng:  rand.New(rand.NewPCG(seed, 1)),
		free: map[uint64][]uint64{}, brk: 0x555555780010, tid: 4711,
	}
	for range 400 {
		s.round = append(s.round, simSite{
			stack: capture.StackID(1 + s.rng.IntN(120)),
			size:  uint64(8 << s.rng.IntN(7)),
			vary:  s.rng.IntN(6) == 0,
		})
	}
	return s
}

func (s *Simulation) malloc(size uint64) uint64 {
	chunk := simChunk(size)
	list := s.free[chunk]
	var a uint64
	if n := len(list); n > 0 {
		i := n - 1
		if s.rng.IntN(10) == 0 {
			i = s.rng.IntN(n)
		}
		a = list[i]
		s.free[chunk] = slices.Delete(list, i, i+1)
	} else {
		a = s.brk
		s.brk += chunk
	}
	s.live = append(s.live, simBlock{a, chunk})
	return a
}

// take removes a block, most often a young one.
func (s *Simulation) take() simBlock {
	age := int(s.rng.ExpFloat64() * 20)
	i := max(len(s.live)-1-age, 0)
	b := s.live[i]
	s.live = append(s.live[:i], s.live[i+1:]...)
	return b
}

func (s *Simulation) release(b simBlock) { s.free[b.chunk] = append(s.free[b.chunk], b.addr) }

// next is the next event of the program.
func (s *Simulation) next() capture.Event {
	s.now += time.Duration(s.rng.IntN(3)) * time.Microsecond
	if s.rng.IntN(500) == 0 {
		s.tid = 4711 + int32(s.rng.IntN(4))
	}
	e := capture.Event{Time: s.now, TID: s.tid}
	site := s.round[s.site]
	s.site = (s.site + 1) % len(s.round)
	if s.rng.IntN(50) == 0 {
		s.site = s.rng.IntN(len(s.round))
	}
	size := site.size
	if site.vary {
		size += uint64(s.rng.IntN(200))
	}
	switch n := len(s.live); {
	case n > 50000 || n > 1000 && s.rng.IntN(100) < 46:
		b := s.take()
		s.release(b)
		e.Kind, e.Func, e.Addr = capture.Free, 1, b.addr
	case n > 0 && s.rng.IntN(30) == 0:
		b := s.take()
		e.Kind, e.Func, e.Old, e.Size, e.Stack = capture.Realloc, 2, b.addr, b.chunk*2, site.stack
		e.Addr = s.malloc(e.Size)
		s.release(b)
	case s.rng.IntN(500) == 0:
		e.Kind, e.Func, e.Size, e.Failed, e.Stack = capture.Alloc, 0, 1<<40, true, site.stack
	default:
		e.Kind, e.Size, e.Addr, e.Stack = capture.Alloc, size, s.malloc(size), site.stack
	}
	return e
}

// SampleEvents is the first n events of a simulated program.
func SampleEvents(seed uint64, n int) []capture.Event { return NewSimulation(seed).Events(n) }

// Events are the next n events.
func (s *Simulation) Events(n int) []capture.Event {
	events := make([]capture.Event, n)
	for i := range events {
		events[i] = s.next()
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// SampleEventsWithEnds is trace with the blocks that the events end, most of which are recorded. Most
// frees have a stack, too, and some blocks an aux.
func SampleEventsWithEnds(seed uint64, n int) []capture.Event {
	events := SampleEvents(seed, n)
	live := map[uint64]capture.Ended{}
	for i := range events {
		e := &events[i]
		a := e.Addr
		if e.Kind == capture.Realloc && e.Old != 0 {
			a = e.Old
		}
		e.Ended = live[a]
		delete(live, a)
		switch {
		case e.Kind == capture.Free:
			e.Size = e.Ended.Size
			if i%16 != 0 {
				e.Stack = 1 + e.Ended.Stack%7
			}
		case i%11 == 0:
			e.Aux = 1 + e.Addr/16%3
		}
		if e.Allocates() && i%97 != 0 {
			live[e.Addr] = capture.Ended{Size: e.Size, Stack: e.Stack, Recorded: true, Seq: e.Seq}
		}
	}
	return events
}

// NameMakers has events tell which ones made the blocks that they end, as a recorder's do.
func NameMakers(events []capture.Event) {
	live := map[uint64]uint64{} // number of the event that made the block, by address
	for i := range events {
		e := &events[i]
		if seq, ok := live[e.EndedAt()]; ok && e.Ended.Recorded {
			e.Ended.Seq = seq
		}
		delete(live, e.EndedAt())
		if e.Allocates() {
			live[e.Addr] = e.Seq
		}
	}
}

// SampleStack is the stack with that number of a program whose functions call one
// another.
func SampleStack(n int) capture.Stack {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	s := capture.Stack{PCs: make([]addr.Run, 4+rng.IntN(20))}
	for i := range s.PCs {
		depth := len(s.PCs) - i // from the outermost frame: the same for many stacks
		s.PCs[i] = addr.Run(0x555555555000 + depth*0x340 + n>>(2*(depth/2))%4*0x20)
	}
	s.PCs[0] = addr.Run(0x7ffff7e10000 + n%5*16)
	s.FirstIsPC = true
	return s
}

// Fill records a whole session: n events, and a few of everything else.
func Fill(r capture.Recorder, seed uint64, n int) { NewSimulation(seed).Fill(r, n) }

// Fill is Fill by this program.
func (s *Simulation) Fill(r capture.Recorder, n int) {
	for _, name := range []string{"malloc", "free", "realloc"} {
		r.FuncIndex(name)
	}
	r.AddModule(capture.Module{Path: "/usr/bin/prog", BuildID: "0123abcd", Bias: 0x555555554000, Low: 0x555555554000, High: 0x555555600000})
	libc := r.AddModule(capture.Module{Path: "/usr/lib/libc.so.6", Bias: 0x7ffff7d00000, Low: 0x7ffff7d00000, High: 0x7ffff7f00000, From: 1})
	r.AddThread(capture.Thread{TID: 4711, Num: 1, Name: "prog"})
	for i := range 120 {
		r.Intern(SampleStack(i))
	}
	for i, e := range s.Events(n) {
		r.AddEvent(&e)
		if i == n/2 {
			r.AddThread(capture.Thread{TID: 4712, Num: 2, Name: "worker"})
			r.AddThread(capture.Thread{TID: 4711, Num: 1, Name: "prog-main"})
			r.EndModule(libc, e.Seq)
			r.AddStop(capture.StopRecord{Seq: e.Seq, Event: e.Seq, Time: e.Time, TID: e.TID, Stack: e.Stack, Text: "breakpoint 1, hit 1\n#0 main"})
		}
	}
}

// SampleInfo is the Info of a session.
var SampleInfo = capture.Info{
	Program: "/usr/bin/prog", Args: []string{"-x", "", "a b"}, PID: 4711,
	Start: time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC),
	Host:  "host", Kernel: "6.1.0", Arch: "x86_64", Created: "hdb 0.1",
}

// simChunk is what the simulated allocator takes for a block, as glibc's does.
func simChunk(size uint64) uint64 { return max((size+8+15)&^15, 32) }
