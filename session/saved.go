package session

import (
	"fmt"
	"os"
	"path/filepath"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"
)

func fileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// savedStack is the stack selected in the capture.
func (s *Session) savedStack() (Stack, error) {
	if s.sel.saved == 0 {
		return Stack{}, ErrNoStack
	}
	if s.sel.max == 0 {
		s.sel.stack, s.sel.max = s.sourceStack(s.saved, s.sel.saved, s.sel.at), defaultDepth
	}
	return s.sel.stack, nil
}

// sourceStack resolves a recorded stack: with what the capture kept, or with the
// modules of the process.
func (s *Session) sourceStack(src capture.Source, id capture.StackID, seq uint64) Stack {
	rec := src.Stack(id)
	out := Stack{Truncated: rec.Truncated}
	for i := range rec.PCs {
		out.Frames = s.sourceFrames(out.Frames, src, &rec, i, seq)
	}
	return out
}

// sourceFrames appends the frames that address i of a recorded stack stands for.
func (s *Session) sourceFrames(frames []Frame, src capture.Source, rec *capture.Stack, i int, seq uint64) []Frame {
	code := rec.Code(i)
	base := Frame{Code: code, How: unwind.CFI, CFA: addr.Run(i)} // recorded frames have no CFA: their number tells them apart
	if rec.Guessed(i) {
		base.How = unwind.FramePointer
	}
	if m, ok := moduleOf(src, code.Lookup(), seq); ok {
		base.Module, base.Path, base.InFile = savedName(m), m.Path, code.Addr().File(m.Bias)
	}
	chain := s.recordedChain(code, seq)
	if len(chain) == 0 {
		base.Num = len(frames)
		frames = append(frames, base)
	}
	for _, f := range chain {
		fr := base
		fr.Num, fr.Offset = len(frames), f.Offset
		fr.Frame = symbolsFrame(f)
		if fr.Module == "" {
			fr.Module = madeBy(fr.Frame.Source)
		}
		frames = append(frames, fr)
	}
	return frames
}

func (s *Session) recordedChain(c addr.Code, seq uint64) []capture.Frame {
	if s.saved != nil {
		return s.savedChain(c, seq)
	}
	return s.loggedChain(c, seq)
}

func symbolsFrame(f capture.Frame) symbols.Frame {
	return symbols.Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		Inlined: f.Inlined, Source: provenance(f.Source), Language: language(f.Language),
		Entry: addr.File(f.FuncLow),
	}
}

// provenance is the reverse of its String.
func provenance(word string) symbols.Provenance {
	for p := symbols.FromNone; p <= symbols.FromJIT; p++ {
		if p.String() == word {
			return p
		}
	}
	return symbols.FromNone
}

// language is a language of that family: what highlights its sources.
func language(family string) symbols.Language {
	for l := symbols.Language(1); family != "" && l < 0x40; l++ { // DW_LANG codes, DWARF 5 section 7.12
		if l.String() == family {
			return l
		}
	}
	return 0
}

func moduleOf(src capture.Source, pc addr.Run, seq uint64) (capture.Module, bool) {
	for _, m := range src.Modules() {
		if m.Holds(pc, seq) {
			return m, true
		}
	}
	for _, m := range src.Modules() {
		if pc >= m.Low && pc < m.High {
			return m, true
		}
	}
	return capture.Module{}, false
}

// savedName is a recorded module's name. The vDSO is the one module without a
// file; one that a damaged capture lost has no addresses either.
func savedName(m capture.Module) string {
	switch {
	case m.Path != "":
		return filepath.Base(m.Path)
	case m.High == 0:
		return "(lost)"
	}
	return "[vdso]"
}

func (s *Session) savedModules() []ModuleInfo {
	var rows []ModuleInfo
	for _, m := range s.saved.Modules() {
		rows = append(rows, ModuleInfo{Path: m.Path, Name: savedName(m), Low: m.Low, High: m.High, Bias: m.Bias, BuildID: m.BuildID, Debug: "kept in the capture"})
	}
	return rows
}

func (s *Session) savedThreads() []ThreadInfo {
	var rows []ThreadInfo
	for _, t := range s.saved.Threads() {
		rows = append(rows, ThreadInfo{Num: t.Num, TID: int(t.TID), Name: t.Name})
	}
	return rows
}

// Opened tells what a capture begins with: how many events can be read, and the
// stop or event that is selected, "" without any.
func (s *Session) Opened() (events int, selected string) {
	if s.saved == nil {
		return 0, ""
	}
	if info := s.saved.Info(); info.Aggregate {
		return int(info.Totals.Events), "" // in sums
	}
	stops := s.saved.Stops()
	for i := len(stops) - 1; i >= 0 && s.sel.saved != 0; i-- {
		if stops[i].Stack == s.sel.saved && max(stops[i].Event, stops[i].Seq) == s.sel.at {
			return s.saved.Len(), fmt.Sprintf("stop %d, %s", i+1, stops[i].Text)
		}
	}
	if e, ok := s.EventAt(s.sel.seq); ok {
		return s.saved.Len(), fmt.Sprintf("event #%d %s", e.Seq, e.Call())
	}
	return s.saved.Len(), ""
}

// CaptureInfo is what the capture says of itself.
func (s *Session) CaptureInfo() (capture.Info, error) {
	src := s.source()
	if src == nil {
		_, err := s.someSource()
		return capture.Info{}, err
	}
	return src.Info(), nil
}

// RecordedThreads are the threads that the events speak of.
func (s *Session) RecordedThreads() []capture.Thread {
	if src := s.source(); src != nil {
		return src.Threads()
	}
	return nil
}

// StopRecords are the stops of the session so far, or of the saved one.
func (s *Session) StopRecords() []capture.StopRecord {
	if src := s.source(); src != nil {
		return src.Stops()
	}
	return nil
}

func (s *Session) noEvent(seq uint64) error {
	src, err := s.someSource()
	if err != nil {
		return fmt.Errorf("#%d: %w", seq, err)
	}
	return fmt.Errorf("#%d: not among the %d recorded events: see allocs", seq, src.Len())
}
