package session

import (
	"errors"
	"strings"

	"hdb/capture"
	"hdb/heap"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"
)

// Record starts recording every allocation event with its stack. With plain
// breakpoints each call costs two stops of the thread, tens of microseconds.
func (s *Session) Record() error {
	if s.Mode() == Saved {
		return ErrSaved
	}
	if s.trace.recording {
		return errors.New("record: already recording")
	}
	s.trace.recording = true
	if s.proc == nil {
		return nil
	}
	return s.armTracer()
}

// StopRecord ends recording; what was recorded stays.
func (s *Session) StopRecord() error {
	if !s.trace.recording {
		return errors.New("record: not recording: use record start")
	}
	s.trace.recording = false
	if s.proc == nil {
		return nil
	}
	return s.armTracer()
}

// RecordStatus is what `record status` prints.
type RecordStatus struct {
	Recording  bool
	Seen       uint64 // events of this run
	Recorded   int    // events in the log
	Stacks     int
	LiveBytes  uint64
	LiveBlocks int
	PeakBytes  uint64
	Sites      int    // places where allocator functions are trapped
	Lost       uint64 // calls of this run that could not be followed
	LostCause  error  // of the last one
	Blind      bool   // the program ran on untraced: recorded blocks may be freed by now
}

// RecordStatus tells how far the recording is.
func (s *Session) RecordStatus() RecordStatus {
	live, seen := s.trace.live, s.trace.seq
	if s.saved != nil { // nothing but what it recorded is known
		live, seen = replayed(s.saved), s.saved.Info().Totals.Events
	}
	st := RecordStatus{
		Recording: s.trace.recording && s.saved == nil, Seen: seen,
		LiveBytes: live.Bytes(), LiveBlocks: live.Blocks(), PeakBytes: live.Peak(),
	}
	if src := s.source(); src != nil {
		st.Recorded, st.Stacks = src.Len(), src.Stacks()
	}
	st.Sites = s.trace.sites
	if s.tracer != nil && s.tracer.Armed() {
		st.Sites = 0
		for _, site := range s.tracer.Sites() {
			if site.Err == nil {
				st.Sites++
			}
		}
	}
	lost := s.lost()
	st.Lost, st.LostCause = lost.Lost, lost.LostCause
	st.Blind = s.saved == nil && s.trace.blind
	return st
}

// source is the events that can be asked about: of this run, of the last one, or
// of the capture.
func (s *Session) source() capture.Source {
	switch {
	case s.saved != nil:
		return s.saved
	case s.log != nil:
		return s.log
	}
	return nil
}

// record puts the event with its stack in the log.
func (s *Session) record(env *eventEnv) {
	e := env.e
	e.Func = s.log.FuncIndex(e.Function)
	e.Stack = s.log.Intern(recordedStack(env.walk()))
	s.log.AddEvent(e.Event)
	if heap.Allocates(e.Event) {
		s.trace.live.SetLogged(e.Addr, true)
	}
	s.logThread(env.t)
}

// recordedStack keeps the code addresses and how they were found.
func recordedStack(raw unwind.Stack) capture.Stack {
	st := capture.Stack{Truncated: raw.Truncated, PCs: make([]addr.Run, len(raw.Frames))}
	for i, f := range raw.Frames {
		st.PCs[i] = f.PC.Addr()
		switch {
		case f.PC.IsReturn():
		case i == 0:
			st.FirstIsPC = true
		default:
			st.Interrupted = setBit(st.Interrupted, i, len(raw.Frames))
		}
		if f.How.Guess() {
			st.Guess = setBit(st.Guess, i, len(raw.Frames))
		}
	}
	return st
}

func setBit(bits []bool, i, n int) []bool {
	if bits == nil {
		bits = make([]bool, n)
	}
	bits[i] = true
	return bits
}

func (s *Session) logThread(t *inferior.Thread) {
	if s.logged[t.Num] {
		return
	}
	s.logged[t.Num] = true
	s.log.AddThread(capture.Thread{TID: int32(t.TID), Num: t.Num, Name: t.Name()})
}

// logModules keeps which file was mapped where, from which event on. The build
// ID is read from the file now, while it is the one that runs.
func (s *Session) logModules(added, removed []inferior.Module) {
	for _, gone := range removed {
		key := moduleKey{gone.Path, gone.Low}
		if i, ok := s.logMods[key]; ok {
			s.log.EndModule(i, s.trace.seq+1)
			delete(s.logMods, key)
		}
	}
	for _, mod := range added {
		m := capture.Module{Path: mod.Path, Bias: mod.Bias, Low: mod.Low, High: mod.High, From: s.trace.seq + 1}
		if mine := s.mods.at(mod.Low); mine != nil {
			if obj := s.mods.object(mine); obj != nil {
				m.BuildID = obj.BuildID()
			}
		}
		s.logMods[moduleKey{mod.Path, mod.Low}] = s.log.AddModule(m)
	}
}

type moduleKey struct {
	path string
	low  addr.Run
}

// loggedModules are the modules that the log has as mapped now.
func (s *Session) loggedModules() []inferior.Module {
	var all []inferior.Module
	for key := range s.logMods {
		all = append(all, inferior.Module{Path: key.path, Low: key.low})
	}
	return all
}

// logStop keeps the report, with its stack, for the capture.
func (s *Session) logStop(r *Report) {
	if s.log == nil {
		return
	}
	rec := capture.StopRecord{Seq: s.trace.seq, Time: r.Elapsed, Text: r.Headline(), TID: int32(r.Thread.TID)}
	if r.Event != nil {
		rec.Event = r.Event.Seq
	}
	if s.sel.thread != nil && r.Reason != inferior.Exited && r.Reason != inferior.Gone {
		if raw, err := s.rawStack(s.sel.thread, defaultDepth, s.sel.code); err == nil {
			rec.Stack = s.log.Intern(recordedStack(raw))
		}
		s.logThread(s.sel.thread)
	}
	s.log.AddStop(rec)
}

// finishLog resolves the stacks recorded since the last call, while the modules
// they refer to are known.
func (s *Session) finishLog() {
	if s.log == nil {
		return
	}
	for id := s.resolvedTo + 1; id <= s.log.Stacks(); id++ {
		s.resolvedTo = id
		st := s.log.Stack(capture.StackID(id))
		for i := range st.PCs {
			s.resolved.keep(s, st.Code(i))
		}
	}
}

// resolved are the function chains of the code addresses in the log. A library
// may be unloaded and another one take its place, so the module is part of the
// key.
type resolved map[codeKey][]capture.Frame

type codeKey struct {
	code   addr.Code
	module int // index in the log
}

// keep resolves the code with the modules that are mapped now.
func (r resolved) keep(s *Session, c addr.Code) {
	mod := s.mods.at(c.Lookup())
	if mod == nil {
		return
	}
	index, ok := s.logMods[moduleKey{mod.Path, mod.Low}]
	if !ok {
		return
	}
	key := codeKey{c, index}
	if _, ok := r[key]; ok {
		return
	}
	var out []capture.Frame
	for _, f := range s.mods.frames(c) {
		out = append(out, captureFrame(f, c, mod.Bias))
	}
	r[key] = out
}

// at is the chain of the code as it was at event seq.
func (r resolved) at(mods []capture.Module, c addr.Code, seq uint64) []capture.Frame {
	for i, m := range mods {
		if m.Holds(c.Lookup(), seq) {
			return r[codeKey{c, i}]
		}
	}
	for i, m := range mods { // a stop after the last event, in a library loaded since
		if m.Low <= c.Lookup() && c.Lookup() < m.High {
			return r[codeKey{c, i}]
		}
	}
	return nil
}

func captureFrame(f symbols.Frame, c addr.Code, bias addr.Bias) capture.Frame {
	low := f.Entry.Run(bias)
	cf := capture.Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		Inlined: f.Inlined, Source: f.Source.String(), Language: strings.ToLower(f.Language.String()), FuncLow: low,
	}
	if !f.Inlined {
		cf.Offset = uint64(c.Addr() - low)
	}
	return cf
}

// embedder gives Save the names and sources of the session.
type embedder struct{ s *Session }

// Resolve is the chain kept for the address.
func (e embedder) Resolve(pc addr.Run, isReturn bool, seq uint64) []capture.Frame {
	c := addr.PC(pc)
	if isReturn {
		c = addr.Return(pc)
	}
	if e.s.saved != nil {
		f, _ := e.s.saved.Symbol(pc, isReturn, seq)
		return f
	}
	if e.s.proc != nil {
		e.s.resolved.keep(e.s, c)
	}
	return e.s.resolved.at(e.s.log.Modules(), c, seq)
}

// SourceLine is the text of a source file.
func (e embedder) SourceLine(file string) ([]string, bool) {
	src, err := e.s.Sources.Open(file)
	if err != nil {
		return nil, false
	}
	return src.Lines, true
}

// SavedInfo is what Save wrote.
type SavedInfo struct {
	Path   string
	Events int
	Stacks int
	Stops  int
	Bytes  int64
}

// Save writes what was recorded and the session's stops to a capture.
func (s *Session) Save(path string) (SavedInfo, error) {
	src := s.source()
	if src == nil {
		return SavedInfo{}, errors.New("save: nothing to save: no program ran")
	}
	if err := capture.Save(path, src, embedder{s}); err != nil {
		return SavedInfo{}, err
	}
	return SavedInfo{Path: path, Events: src.Len(), Stacks: src.Stacks(), Stops: len(src.Stops()), Bytes: fileSize(path)}, nil
}

// Open makes the session one about a capture.
func (s *Session) Open(path string) (capture.Info, error) {
	if s.proc != nil {
		return capture.Info{}, ErrRunning
	}
	f, err := capture.Open(path)
	if err != nil {
		return capture.Info{}, err
	}
	if s.saved != nil {
		if err := s.saved.Close(); err != nil {
			s.notify("close: %v", err)
		}
	}
	s.saved = f
	s.sel = selection{}
	s.selectSaved()
	if d := f.Damage(); d != nil {
		s.notify("%v", d)
	}
	return f.Info(), nil
}

// selectSaved starts at the last stop of the session, or the last event.
func (s *Session) selectSaved() {
	stops := s.saved.Stops()
	for i := len(stops) - 1; i >= 0; i-- {
		if stops[i].Stack != 0 {
			s.sel.seq = stops[i].Event
			s.sel.saved = stops[i].Stack
			s.sel.at = max(stops[i].Event, stops[i].Seq)
			break
		}
	}
	if s.sel.saved == 0 {
		for e := range s.saved.Events(0) {
			s.sel.seq, s.sel.saved, s.sel.at = e.Seq, e.Stack, e.Seq
		}
	}
	if st, err := s.savedStack(); err == nil {
		s.sel.frame = s.UserFrame(st.Frames)
	}
}
