package session

import "hdb/inferior"

// HandleSignal says what to do with a signal, now and in later runs.
func (s *Session) HandleSignal(name string, p inferior.Policy) error {
	if s.proc != nil {
		if err := s.proc.HandleSignal(name, p); err != nil {
			return err
		}
	} else if _, err := inferior.SignalNumber(name); err != nil {
		return err
	}
	s.policy[name] = p
	return nil
}

// Signals is the table of `info signals`.
func (s *Session) Signals() []inferior.SignalPolicy {
	if s.proc != nil {
		return s.proc.Signals()
	}
	rows := inferior.DefaultSignals()
	for i, r := range rows {
		if p, ok := s.policy[r.Name]; ok {
			rows[i].Policy = p
		}
	}
	return rows
}
