package session

import (
	"fmt"
	"os"
	"slices"

	"hdb/internal/procfs"
	"hdb/session/stopped"
	"hdb/session/target"
)

// An Inferior is a process of the session: the one under the debugger, or a
// child that a fork left held (set detach-on-fork off).
type Inferior struct {
	PID      int
	Exe      string
	Selected bool
}

// Inferiors are the processes of the session, the selected one first.
func (s *Session) Inferiors() ([]Inferior, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	rows := []Inferior{{PID: s.target.Proc.PID(), Exe: s.target.Proc.Exe(), Selected: true}}
	for _, pid := range s.target.Proc.Held() {
		exe, err := os.Readlink(procfs.Path(pid, "exe"))
		if err != nil {
			exe = "unknown"
		}
		rows = append(rows, Inferior{PID: pid, Exe: exe})
	}
	return rows, nil
}

// SwitchInferior makes a held process the one under the debugger. The present
// one is held instead.
func (s *Session) SwitchInferior(pid int) (*stopped.Report, error) {
	if err := s.target.Live(); err != nil {
		return nil, err
	}
	if err := s.switchTo(pid); err != nil {
		return nil, err
	}
	return s.Execution.ReportHere("switched"), nil
}

// switchTo takes over a held process. What the old one had planted is lifted,
// and planted in the new one.
func (s *Session) switchTo(pid int) error {
	if held := s.target.Proc.Held(); !slices.Contains(held, pid) {
		return fmt.Errorf("process %d is not held: see info inferiors", pid)
	}
	if _, ended := s.target.Proc.Exited(); ended {
		s.Stops.forgetBindings(programGone)
	} else {
		s.Stops.unbindAll()
	}
	s.Planes.release()
	s.Execution.Leave()
	if err := s.target.Proc.SwitchTo(pid); err != nil {
		return err
	}
	s.sourcesOf(pid)
	s.target.Names.Modules.Update(target.Mappings(s.target.Proc.Modules()))
	s.target.Names.Log.Switch(s.account.Rec, s.account.Rec.Seq()+1, target.Mappings(s.target.Proc.Modules()))
	s.Planes.newTracer()
	s.Selection.SelectDefault()
	s.Stops.bindAll()
	return s.Planes.arm()
}
