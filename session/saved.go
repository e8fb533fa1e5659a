package session

import (
	"fmt"
	"os"

	"hdb/capture"
)

func fileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
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
	for i := len(stops) - 1; i >= 0 && s.Selection.stackID != 0; i-- {
		if stops[i].Stack == s.Selection.stackID && max(stops[i].Event, stops[i].Seq) == s.Selection.at {
			return s.saved.Len(), fmt.Sprintf("stop %d, %s", i+1, stops[i].Text)
		}
	}
	if e, ok := s.EventAt(s.Selection.seq); ok {
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
