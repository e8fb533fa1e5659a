package session

import (
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/unwind"
)

// Names finds the symbols of the program, the process or the capture.
func (s *Session) Names() *names.Resolver { return s.names }

// newNames makes the part of the session that finds names.
func (s *Session) newNames() *names.Resolver {
	return names.New(names.Config{
		Settings: &s.Settings.Settings, Cache: s.cfg.Cache, Notify: func(line string) { s.cfg.Notify(line) },
		Fetched: s.cfg.Fetched, Injected: injected{s.common}, Change: s.changeNames,
	})
}

// changeNames runs a change of what names were found by, and forgets what was made of them.
func (s *Session) changeNames(change func()) {
	s.exclusive(func() {
		change()
		s.rec.ForgetAnswers()
	})
}

// injected is the probe's code, while there is any.
type injected struct{ *common }

// ModuleAt is the CFI of the probe's code.
func (i injected) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	if i.probe == nil {
		return nil, 0, false
	}
	return i.probe.ModuleAt(pc)
}

// Covers tells the probe's code.
func (i injected) Covers(pc addr.Run) bool { return i.probe != nil && i.probe.Covers(pc) }

// mappings are the modules as names wants them; nil of nil.
func mappings(modules []inferior.Module) []names.Mapping {
	var out []names.Mapping
	for _, m := range modules {
		out = append(out, names.Mapping(m))
	}
	return out
}

// recordModules records which files were mapped where, from the next event on.
func (s *Session) recordModules(added, removed []inferior.Module) {
	s.names.Log.Change(s.rec, s.rec.Seq()+1, mappings(added), mappings(removed))
}

// lastJITNames reads names once more before the memory of the process is gone, if what
// was recorded wants them.
func (s *Session) lastJITNames() {
	if !s.names.JIT.Wanted() {
		s.exclusive(func() {}) // the stack that wants them may be in the ring still
	}
	if s.names.JIT.Wanted() {
		s.names.JIT.Read()
	}
}
