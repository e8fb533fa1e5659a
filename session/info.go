package session

import (
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
)

// Lines tells which code a location has; "" is the selected frame's.
func (s *Session) Lines(location string) ([]names.LineInfo, error) {
	var at []addr.Run
	if location == "" {
		f, err := s.SelectedFrame()
		if err != nil {
			return nil, err
		}
		at = append(at, f.Code.Lookup())
	} else if file, line, ok := s.fileAndLine(location); ok {
		return s.names.Symbols.Lines(file, line), nil
	} else {
		places, err := s.Places(location)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			at = append(at, p.Addr)
		}
	}
	var rows []names.LineInfo
	for _, a := range at {
		rows = append(rows, s.names.Symbols.LineAt(a))
	}
	return rows, nil
}

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
