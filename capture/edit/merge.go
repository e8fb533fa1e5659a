package edit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

const (
	// mergeShift is the bit from which on the addresses of a merged capture tell
	// which process they are of. No process of today's x86-64 or AArch64 machines
	// has addresses that high, unless it asks for them.
	mergeShift = 56
	// maxMerged is the most captures that are merged: their numbers must fit above
	// mergeShift, and above the TIDs (PID_MAX_LIMIT of linux/threads.h is 2^22).
	maxMerged = 100
	tidShift  = 22
	maxTIDs   = 1 << 22
)

// Merge writes the recordings of several processes of one program, run one after
// the other or side by side, as one capture: events in the order of the clock,
// counted anew; the time from the earliest start. What is live is the sum of what
// is live in each process, also in those that have ended. The second capture has
// 1<<56 added to its addresses, the third 2<<56 and so on. Threads that the
// captures number alike get new numbers, and all their process in the name.
//
// Where the program of one was replaced (exec) its blocks are freed, by events of a function
// "execve" that none of the captures has. A damaged one is taken as Repair takes it.
func Merge(w io.Writer, files []*file.File) (Copied, error) {
	if len(files) < 2 || len(files) > maxMerged {
		return Copied{}, fmt.Errorf("2 to %d captures can be merged", maxMerged)
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *file.File) int { return a.Info().Start.Compare(b.Info().Start) })
	for _, f := range files[1:] {
		a, b := files[0].Info(), f.Info()
		if !oneProgram(files[0], f) {
			return Copied{}, fmt.Errorf("%s is of %s (%s), %s of %s (%s): merge needs captures of one program, with the same file name or build ID, on one architecture; "+
				"merge those of each program by themselves, or look at several programs side by side with `hdb export parquet`",
				files[0].Path(), a.Program, a.Arch, f.Path(), b.Program, b.Arch)
		}
	}
	m := &merger{interpreted: interpreted{}}
	for n, f := range files {
		p, err := m.process(w, n, f)
		if err != nil {
			return Copied{}, err
		}
		m.all = append(m.all, p)
	}
	for _, f := range files {
		m.c.AddPartial(f.Info().Partial...)
		m.result.Open = m.result.Open || f.EndMissing()
	}
	if err := m.events(); err != nil {
		return Copied{}, err
	}
	err := m.close() // which may add events
	return m.result, err
}

// A merger writes several recordings to one.
type merger struct {
	c      *file.Writer
	all    []*merged
	result Copied
	begin  time.Time         // of the earliest recording
	tids   map[int32]*merged // whose they are
	made   *merged           // the one whose event made a block last
	nums   int               // highest number of a thread

	interpreted interpreted
}

// merged is one of the recordings that are merged.
type merged struct {
	copier
	m       *merger
	f       *file.File
	walk    *file.Walk
	high    uint64                   // is added to addresses
	later   time.Duration            // that it began
	indexes []uint16                 // by index in f
	tids    map[int32]int32          // that are others in the new capture
	modules []int                    // index in the new capture, by index in f
	numbers []uint64                 // in f, ascending, of which the new ones are needed
	news    []uint64                 // of numbers: the last new number up to it
	last    uint64                   // new number of the last event
	execs   []uint64                 // the replacements of its program that are to come
	blocks  map[uint64]capture.Ended // its live blocks by their new addresses; nil if its program is never replaced
}

// process begins with a recording.
func (m *merger) process(w io.Writer, n int, f *file.File) (*merged, error) {
	p := &merged{m: m, f: f, walk: f.Walk(0), high: uint64(n) << mergeShift, tids: map[int32]int32{}}
	if n == 0 {
		k, err := newCopier(w, f, f, false)
		if err != nil {
			return nil, err
		}
		m.c, m.begin, m.tids = k.c, f.Info().Start, map[int32]*merged{}
	}
	if f.Info().Aggregate {
		return nil, errAggregate
	}
	p.copier = copier{c: m.c, src: relocated{f, p}, live: new(file.LiveBlocks), part: true, funcs: math.MaxInt, result: &m.result}
	if p.execs = f.Execs(); len(p.execs) > 0 {
		p.blocks = map[uint64]capture.Ended{}
	}
	p.later = f.Info().Start.Sub(m.start()).Truncate(capture.Resolution)
	if n == 0 {
		p.later = 0
	}
	for _, name := range f.Functions() {
		p.indexes = append(p.indexes, m.c.FuncIndex(cmp.Or(name, lostFunction)))
	}
	m.threads(p)
	for _, mod := range f.Modules() {
		p.modules = append(p.modules, m.c.AddModule(p.module(mod)))
		p.numbers = append(p.numbers, max(mod.From, 1)-1, max(mod.To, 1)-1)
	}
	for _, s := range f.Stops() {
		p.numbers = append(p.numbers, s.Seq, s.Event)
	}
	for _, r := range f.Marks() {
		p.numbers = append(p.numbers, r.Seq)
	}
	for _, r := range f.Samples() {
		p.numbers = append(p.numbers, r.Seq)
	}
	for _, l := range f.Console() {
		p.numbers = append(p.numbers, l.Seq)
	}
	for _, r := range f.Losses() {
		p.numbers = append(p.numbers, r.After)
	}
	slices.Sort(p.numbers)
	p.numbers = slices.Compact(p.numbers)
	return p, nil
}

// start is when the earliest recording began.
func (m *merger) start() time.Time { return m.begin }

// threads adds the threads of p under numbers of their own.
func (m *merger) threads(p *merged) {
	base, highest := m.nums, m.nums
	for _, t := range p.f.Threads() {
		t.TID = m.tid(p, t.TID)
		t.Num += base
		highest = max(highest, t.Num)
		t.Name = fmt.Sprintf("%s [%d]", t.Name, p.f.Info().PID)
		m.c.AddThread(t)
	}
	m.nums = highest
}

// tid is the number of one of p's threads in the new capture.
func (m *merger) tid(p *merged, tid int32) int32 {
	made, ok := p.tids[tid]
	if ok {
		return made
	}
	made = tid
	if m.tids[tid] != nil {
		made += int32(p.high>>mergeShift) << tidShift
	} else {
		m.tids[tid] = p
	}
	if len(p.tids) < maxTIDs {
		p.tids[tid] = made
	}
	return made
}

// module is the module at the addresses of the new capture.
func (p *merged) module(m capture.Module) capture.Module {
	if m.High != 0 {
		m.Bias += addr.Bias(p.high)
		m.Low += addr.Run(p.high)
		m.High += addr.Run(p.high)
	}
	return m
}

// events adds all events in the order of their times.
func (m *merger) events() error {
	for {
		var next *merged
		var first *capture.Event
		var at time.Duration
		for _, p := range m.all {
			if e := p.walk.Peek(); e != nil && (first == nil || e.Time+p.later < at) {
				next, first, at = p, e, e.Time+p.later
			}
		}
		if next == nil {
			return nil
		}
		if err := m.event(next, first, at); err != nil {
			return fmt.Errorf("%s: %w", next.f.Path(), err)
		}
	}
}

// event adds the next event of p, which happened then.
func (m *merger) event(p *merged, e *capture.Event, at time.Duration) error {
	for len(p.execs) > 0 && p.execs[0] <= e.Seq {
		p.execs = p.execs[1:]
		if err := m.replaced(p, at); err != nil {
			return err
		}
	}
	p.lose(p.last, p.walk.Lost)
	p.reached(e.Seq)
	p.walk.Step()
	e.Seq, e.Time = 0, at
	if e.Addr != 0 {
		e.Addr += p.high
	}
	if e.Old != 0 {
		e.Old += p.high
	}
	e.TID = m.tid(p, e.TID)
	if int(e.Func) < len(p.indexes) {
		e.Func = p.indexes[e.Func]
	} else {
		e.Func = p.c.FuncIndex(lostFunction)
	}
	// Between its beginning and its end another process may have made a block.
	e.Ended.Temporary = e.Ended.Temporary && m.made == p
	if err := p.add(e); err != nil {
		return err
	}
	if e.Allocates() {
		m.made = p
	}
	p.last = p.c.LastSeq()
	if p.blocks != nil {
		p.keep(e)
	}
	return nil
}

// keep follows the live blocks of a process whose program is replaced, by an event as
// it is in the new capture.
func (p *merged) keep(e *capture.Event) {
	if e.Ended.Recorded {
		delete(p.blocks, e.EndedAt())
	}
	if e.Allocates() {
		p.blocks[e.Addr] = capture.Ended{Size: e.Size, Stack: e.Stack, Recorded: true}
	}
}

// replaced frees the live blocks of p, whose program was replaced then: the programs of the others
// were not, and so the new capture cannot say it otherwise.
func (m *merger) replaced(p *merged, at time.Duration) error {
	for _, a := range slices.Sorted(maps.Keys(p.blocks)) {
		gone := p.blocks[a]
		if b, ok := p.live.Take(a); ok {
			gone.Seq = b.Seq
		}
		m.c.AddEvent(&capture.Event{Time: at, Kind: capture.Free, Addr: a, Size: gone.Size, TID: m.tid(p, int32(p.f.Info().PID)), Func: m.c.FuncIndex("execve"), Ended: gone})
		m.result.Events++
	}
	if len(p.blocks) > 0 {
		p.last = m.c.LastSeq()
	}
	clear(p.blocks)
	return m.c.Err()
}

// reached notes what the numbers before event #seq have become.
func (p *merged) reached(seq uint64) {
	for len(p.news) < len(p.numbers) && p.numbers[len(p.news)] < seq {
		p.news = append(p.news, p.last)
	}
}

// number is the new number of the last event up to #seq of p.
func (p *merged) number(seq uint64) uint64 {
	i, ok := slices.BinarySearch(p.numbers, seq)
	if !ok || i >= len(p.news) {
		return p.last
	}
	return p.news[i]
}

// close adds what the new numbers are needed for, and completes the capture.
func (m *merger) close() error {
	var stops []capture.StopRecord
	var marks []capture.MarkRecord
	var samples []capture.SampleRecord
	var console []capture.ConsoleLine
	for _, p := range m.all {
		p.reached(math.MaxUint64)
		if len(p.execs) > 0 {
			if err := m.replaced(p, m.c.Last()); err != nil { // after its last event
				return err
			}
		}
		p.loseEnd(p.last, p.f, p.walk)
		p.mapped()
		for _, l := range p.f.Losses() {
			l.After = p.number(l.After)
			m.c.AddLoss(l)
		}
		for _, s := range p.f.Stops() {
			var err error
			if s.Stack, err = p.stack(s.Stack); err != nil {
				return err
			}
			s.Seq, s.Time = p.number(s.Seq), s.Time+p.later
			if s.Event != 0 {
				s.Event = p.number(s.Event)
			}
			s.TID = m.tid(p, s.TID)
			stops = append(stops, s)
		}
		for _, r := range p.f.Marks() {
			marks = append(marks, capture.MarkRecord{Seq: p.number(r.Seq), Time: r.Time + p.later, Name: r.Name})
		}
		for _, r := range p.f.Samples() {
			samples = append(samples, capture.SampleRecord{Seq: p.number(r.Seq), Time: r.Time + p.later, RSS: r.RSS})
		}
		for _, l := range p.f.Console() {
			l.Seq, l.Time, l.Text = p.number(l.Seq), l.Time+p.later, fmt.Sprintf("[%d] %s", p.f.Info().PID, l.Text)
			console = append(console, l)
		}
	}
	slices.SortStableFunc(stops, func(a, b capture.StopRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(marks, func(a, b capture.MarkRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(samples, func(a, b capture.SampleRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(console, func(a, b capture.ConsoleLine) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, s := range stops {
		m.c.AddStop(s)
	}
	for _, r := range marks {
		m.c.AddMark(r)
	}
	for _, r := range samples {
		m.c.AddSample(r)
	}
	for _, l := range console {
		m.c.AddConsole(l)
	}
	if err := m.c.Flush(); err != nil {
		return err
	}
	m.embed()
	return m.c.Close()
}

// mapped says from which new numbers on the modules were mapped.
func (p *merged) mapped() {
	for i, m := range p.f.Modules() {
		if m.From > 1 {
			m.From = p.number(m.From-1) + 1
		}
		if m.To > 0 {
			m.To = p.number(m.To-1) + 1
		}
		p.c.Remap(p.modules[i], m.From, m.To)
	}
}

// embed adds the symbols and source lines that the captures keep.
func (m *merger) embed() { m.c.EmbedFrom(symbolsOf{m.all[0].f, m.all, m.interpreted}) }

// relocated is a recording at the addresses it has in the new capture.
type relocated struct {
	*file.File
	p *merged
}

func (r relocated) Stack(id capture.StackID) capture.Stack {
	s := r.File.Stack(id)
	s.PCs = slices.Clone(s.PCs)
	for i := range s.PCs {
		if capture.IsInterpreted(s.PCs[i]) {
			s.PCs[i] = r.p.m.interpreted.position(r.File, s.PCs[i])
			continue
		}
		s.PCs[i] += addr.Run(r.p.high)
	}
	return s
}

// Symbol is the symbol of an address in a module of the new capture, which was mapped from its
// event #seq on.
func (r relocated) Symbol(pc addr.Run, isReturn bool, seq uint64) ([]capture.Frame, bool) {
	chain, ok := r.File.Symbol(pc-addr.Run(r.p.high), isReturn, r.old(pc, seq))
	chain = slices.Clone(chain)
	for i := range chain {
		if chain[i].FuncLow != 0 {
			chain[i].FuncLow += addr.Run(r.p.high)
		}
	}
	return chain, ok
}

// old is the event of the recording from which on a module of the new capture was mapped at pc,
// as it was there from its event #seq on.
func (r relocated) old(pc addr.Run, seq uint64) uint64 {
	for i, n := range r.p.modules {
		if m := r.p.c.Module(n); m.From == seq && m.Covers(pc) {
			return r.p.f.Modules()[i].From
		}
	}
	return seq
}

// GoType is the type of code in a module of the new capture, as Symbol.
func (r relocated) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	old := addr.PC(code.Addr() - addr.Run(r.p.high))
	if code.IsReturn() {
		old = addr.Return(old.Addr())
	}
	return r.File.GoType(old, r.old(code.Lookup(), seq), of)
}

// symbolsOf are the symbols and source lines of several recordings, at the addresses that
// they have in the new capture.
type symbolsOf struct {
	*file.File
	all         []*merged
	interpreted interpreted
}

// Symbol asks the recording to which the address belongs.
func (s symbolsOf) Symbol(pc addr.Run, isReturn bool, seq uint64) ([]capture.Frame, bool) {
	if capture.IsInterpreted(pc) {
		at, ok := s.interpreted[pc]
		return []capture.Frame{at}, ok && at.Function != ""
	}
	n := uint64(pc) >> mergeShift
	if n >= uint64(len(s.all)) {
		return nil, false
	}
	return s.all[n].src.Symbol(pc, isReturn, seq)
}

// GoType asks the recording to which the code belongs.
func (s symbolsOf) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	n := uint64(code.Addr()) >> mergeShift
	if n >= uint64(len(s.all)) {
		return capture.GoType{}, false
	}
	return s.all[n].src.GoType(code, seq, of)
}

func (s symbolsOf) SourceLines(file string) []capture.Excerpt {
	for _, p := range s.all {
		if x := p.f.SourceLines(file); len(x) > 0 {
			return x
		}
	}
	return nil
}
