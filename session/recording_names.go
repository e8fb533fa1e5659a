package session

import (
	"slices"
	"strings"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
)

// moduleLog is the modules that the recording speaks of. Their files stay open
// for as long as the session does, so that names can be found when someone asks,
// also those of a library that was unloaded.
type moduleLog struct {
	all    []loggedModule    // by their index in the recording
	mapped map[moduleKey]int // those that are mapped now
	names  map[codeKey][]capture.Frame
}

type loggedModule struct {
	capture.Module
	obj *symbols.Object // nil: nothing is known of it
}

type moduleKey struct {
	path string
	low  addr.Run
}

// codeKey names code in a module: another library may have taken its place.
type codeKey struct {
	code   addr.Code
	module int
}

// maxNames bounds the names that are kept lest they be looked up again.
const maxNames = 1 << 16

func newModuleLog() moduleLog {
	return moduleLog{mapped: map[moduleKey]int{}, names: map[codeKey][]capture.Frame{}}
}

// now are the modules that the recording has as mapped.
func (l *moduleLog) now() []inferior.Module {
	var all []inferior.Module
	for key := range l.mapped {
		all = append(all, inferior.Module{Path: key.path, Low: key.low})
	}
	return all
}

// logModules records which file was mapped where, from which event on. The build
// ID is read from the file now, while it is the one that runs.
func (s *Session) logModules(added, removed []inferior.Module) {
	l := &s.modLog
	for _, gone := range removed {
		key := moduleKey{gone.Path, gone.Low}
		if i, ok := l.mapped[key]; ok {
			l.all[i].To = s.rec.Seq() + 1
			s.rec.EndModule(i, l.all[i].To)
			delete(l.mapped, key)
		}
	}
	for _, mod := range added {
		path := mod.Path
		if strings.HasPrefix(path, "/proc/") { // opened through the process's eyes: that says nothing to others
			path = strings.TrimSuffix(mod.Name, " (deleted)")
		}
		m := loggedModule{Module: capture.Module{Path: path, Bias: mod.Bias, Low: mod.Low, High: mod.High, From: s.rec.Seq() + 1}}
		if mine := s.mods.at(mod.Low); mine != nil {
			if m.obj = s.mods.object(mine); m.obj != nil {
				m.BuildID = m.obj.BuildID()
			}
		}
		l.mapped[moduleKey{mod.Path, mod.Low}] = s.rec.AddModule(m.Module)
		l.all = append(l.all, m)
	}
}

// at is the function chain of the code as it was at event seq.
func (l *moduleLog) at(c addr.Code, seq uint64) []capture.Frame {
	for i := range l.all {
		if l.all[i].Holds(c.Lookup(), seq) {
			return l.chain(c, i)
		}
	}
	for i := range l.all { // a stop after the last event, in a library loaded since
		if m := &l.all[i]; m.Low <= c.Lookup() && c.Lookup() < m.High {
			return l.chain(c, i)
		}
	}
	return nil
}

// loggedChain is the function chain of the code as it was at event seq, or that of
// code in no module as it is now.
func (s *Session) loggedChain(c addr.Code, seq uint64) []capture.Frame {
	chain := s.modLog.at(c, seq)
	if chain == nil && !s.modLog.covers(c.Lookup()) {
		chain = s.jitChain(c)
	}
	return chain
}

// objects are the files of the recording, the program first, without those whose place
// another one had before or after.
func (l *moduleLog) objects(program string) []loaded {
	var out []loaded
	for i := range l.all {
		m := &l.all[i]
		shared := slices.ContainsFunc(l.all, func(o loggedModule) bool {
			return o.obj != m.obj && o.Low < m.High && m.Low < o.High
		})
		if m.obj == nil || shared {
			continue
		}
		in := loaded{obj: m.obj, bias: m.Bias, name: m.Path, path: m.Path, low: m.Low, high: m.High}
		if m.Path == program {
			out = slices.Insert(out, 0, in)
		} else {
			out = append(out, in)
		}
	}
	return out
}

func (l *moduleLog) covers(pc addr.Run) bool {
	return slices.ContainsFunc(l.all, func(m loggedModule) bool { return m.Low <= pc && pc < m.High })
}

func (l *moduleLog) chain(c addr.Code, module int) []capture.Frame {
	m := &l.all[module]
	if m.obj == nil {
		return nil
	}
	key := codeKey{c, module}
	frames, ok := l.names[key]
	if !ok {
		for _, f := range lookUp(m.obj, m.Bias, c) {
			frames = append(frames, captureFrame(f, c, m.Bias))
		}
		if len(l.names) >= maxNames {
			clear(l.names)
		}
		l.names[key] = frames
	}
	return frames
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

// embedder gives a capture the names and sources of the session.
type embedder struct{ s *Session }

// Resolve is the function chain of an address at event seq.
func (e embedder) Resolve(pc addr.Run, isReturn bool, seq uint64) []capture.Frame {
	c := addr.PC(pc)
	if isReturn {
		c = addr.Return(pc)
	}
	if e.s.saved != nil {
		return e.s.savedChain(c, seq)
	}
	return e.s.loggedChain(c, seq)
}

// SourceLine is the text of a source file.
func (e embedder) SourceLine(file string) ([]string, bool) {
	src, err := e.s.Source(file)
	if err != nil || !src.Whole() {
		return nil, false // what a capture kept stays as it is
	}
	return src.lines, true
}
