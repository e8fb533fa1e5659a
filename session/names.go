package session

import (
	"hdb/inferior"
	"hdb/names"
	"hdb/session/target"
)

// Names finds the symbols of the program, the process or the capture.
func (s *Session) Names() *names.Resolver { return s.target.Names }

// changeNames runs a change of what names were found by, and forgets what was made of them.
func (s *Session) changeNames(change func()) {
	s.target.Exclusive(func() {
		change()
		s.account.Rec.ForgetAnswers()
	})
}

// recordModules records which files were mapped where, from the next event on.
func (s *Session) recordModules(added, removed []inferior.Module) {
	s.target.Names.Log.Change(s.account.Rec, s.account.Rec.Seq()+1, target.Mappings(added), target.Mappings(removed))
}

// lastJITNames reads names once more before the memory of the process is gone, if what
// was recorded wants them.
func (s *Session) lastJITNames() {
	if !s.target.Names.JIT.Wanted() {
		s.target.Exclusive(func() {}) // the stack that wants them may be in the ring still
	}
	if s.target.Names.JIT.Wanted() {
		s.target.Names.JIT.Read()
	}
}
