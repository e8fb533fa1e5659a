package names

import (
	"slices"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
)

// A ModuleLog is the modules that the recording of this run speaks of. Their files stay
// open for as long as the resolver does, so that names can be found when someone asks,
// also those of a library that was unloaded.
type ModuleLog struct {
	r      *Resolver
	all    []loggedModule    // by their index in the recording
	mapped map[moduleKey]int // those that are mapped now
	names  map[codeKey][]capture.Frame

	occupants uint32 // modules that took the place of others
}

type loggedModule struct {
	capture.Module
	obj      *symbols.Object // nil: nothing is known of it
	occupant uint32          // its number among those that took the place of others
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

// maxNames bounds the cache of names.
const maxNames = 1 << 16

// A ModuleRecorder keeps which modules were mapped from which event on.
type ModuleRecorder interface {
	AddModule(capture.Module) (index int)
	EndModule(index int, seq uint64)
	Occupy(low, high addr.Run, module uint32)
	SetGoTypes(module int, types capture.GoTypes)
}

// Begin forgets the modules of the recording before.
func (l *ModuleLog) Begin() {
	*l = ModuleLog{r: l.r, mapped: map[moduleKey]int{}, names: map[codeKey][]capture.Frame{}}
}

// Change records which files were mapped where and which no longer are, from event
// seq on. The build ID is read from the file now, while it is the one that runs.
func (l *ModuleLog) Change(rec ModuleRecorder, seq uint64, added, removed []Mapping) {
	for _, gone := range removed {
		key := moduleKey{gone.Path, gone.Low}
		if i, ok := l.mapped[key]; ok {
			l.all[i].To = seq
			rec.EndModule(i, seq)
			delete(l.mapped, key)
		}
	}
	for _, mod := range added {
		path := mod.Path
		if strings.HasPrefix(path, "/proc/") { // a path through /proc means nothing once the process is gone
			path = strings.TrimSuffix(mod.Name, " (deleted)")
		}
		m := loggedModule{Module: capture.Module{Path: path, Bias: mod.Bias, Low: mod.Low, High: mod.High, From: seq}}
		if m.obj, _ = l.r.Modules.ObjectAt(mod.Low); m.obj != nil {
			if m.BuildID = m.obj.File.BuildID(); m.BuildID == "" {
				m.GoBuildID = m.obj.File.GoBuildID()
			}
		}
		l.occupy(rec, &m)
		i := rec.AddModule(m.Module)
		if m.obj != nil && m.obj.File.Header().Go {
			rec.SetGoTypes(i, GoTypes(m.obj, m.Bias))
		}
		l.mapped[moduleKey{mod.Path, mod.Low}] = i
		l.all = append(l.all, m)
	}
}

// occupy tells the recording if m, which is new, takes the place of another module.
func (l *ModuleLog) occupy(rec ModuleRecorder, m *loggedModule) {
	replaces, known := false, false
	for i := range l.all {
		o := &l.all[i]
		if o.Low >= m.High || m.Low >= o.High {
			continue
		}
		if o.same(m) {
			m.occupant, known = o.occupant, true
		} else {
			replaces = true
		}
	}
	if !replaces {
		return
	}
	if !known {
		l.occupants++
		m.occupant = l.occupants
	}
	rec.Occupy(m.Low, m.High, m.occupant)
}

// same tells that two modules are the same file in the same place, so that their code has
// the same names.
func (m *loggedModule) same(o *loggedModule) bool {
	return m.Path == o.Path && m.Bias == o.Bias && m.BuildID == o.BuildID && m.GoBuildID == o.GoBuildID && m.BuildID+m.GoBuildID != ""
}

// Mapped are the modules that the recording has as mapped now, of which only path and beginning are
// given.
func (l *ModuleLog) Mapped() []Mapping {
	var all []Mapping
	for key := range l.mapped {
		all = append(all, Mapping{Path: key.path, Low: key.low})
	}
	return all
}

// Switch has the recording follow a change to another process, which has these modules
// mapped. Modules that both have at the same address continue.
func (l *ModuleLog) Switch(rec ModuleRecorder, seq uint64, now []Mapping) {
	mapped := func(list []Mapping, m Mapping) bool {
		return slices.ContainsFunc(list, func(o Mapping) bool { return o.Path == m.Path && o.Low == m.Low })
	}
	before := l.Mapped()
	gone := slices.DeleteFunc(slices.Clone(before), func(m Mapping) bool { return mapped(now, m) })
	added := slices.DeleteFunc(slices.Clone(now), func(m Mapping) bool { return mapped(before, m) })
	l.Change(rec, seq, added, gone)
}

// inModule is the function chain of code in a module as it was at event seq.
func (l *ModuleLog) inModule(c addr.Code, seq uint64) []capture.Frame {
	for i := range l.all {
		if l.all[i].Holds(c.Lookup(), seq) {
			return l.lookUp(c, i)
		}
	}
	for i := range l.all { // a stop after the last event, in a library loaded since
		if m := &l.all[i]; m.Low <= c.Lookup() && c.Lookup() < m.High {
			return l.lookUp(c, i)
		}
	}
	return nil
}

// chain is the function chain of the code as it was at event seq, or the chain of code in no module
// as it is now.
func (l *ModuleLog) chain(c addr.Code, seq uint64) []capture.Frame {
	if chain := l.r.Interpreted.chain(c); chain != nil {
		return chain
	}
	chain := l.inModule(c, seq)
	if chain == nil && !l.covers(c.Lookup()) {
		chain = l.r.JIT.chain(c)
	}
	return chain
}

// images are the files of this run's recording, the program's first, without those whose place
// another one had before or after.
func (l *ModuleLog) images() []Image {
	var out []Image
	for i := range l.all {
		m := &l.all[i]
		shared := slices.ContainsFunc(l.all, func(o loggedModule) bool {
			return o.obj != m.obj && o.Low < m.High && m.Low < o.High
		})
		if m.obj == nil || shared {
			continue
		}
		in := Image{Object: m.obj, Bias: m.Bias, Name: m.Path, Path: m.Path, low: m.Low, high: m.High}
		if l.r.Program != nil && m.Path == l.r.Program.Path {
			out = slices.Insert(out, 0, in)
		} else {
			out = append(out, in)
		}
	}
	return out
}

func (l *ModuleLog) covers(pc addr.Run) bool {
	return slices.ContainsFunc(l.all, func(m loggedModule) bool { return m.Low <= pc && pc < m.High })
}

func (l *ModuleLog) lookUp(c addr.Code, module int) []capture.Frame {
	m := &l.all[module]
	if m.obj == nil {
		return nil
	}
	key := codeKey{c, module}
	frames, ok := l.names[key]
	if !ok {
		frames = l.r.captureFrames(m.obj, m.Bias, c)
		if len(l.names) >= maxNames {
			clear(l.names)
		}
		l.names[key] = frames
	}
	return frames
}

// replace puts obj, the file at path, in the place of old.
func (l *ModuleLog) replace(old, obj *symbols.Object, path string) {
	for i := range l.all {
		m := &l.all[i]
		if m.obj == old && (old != nil || m.Path == path) {
			m.obj = obj
		}
	}
	clear(l.names)
}
