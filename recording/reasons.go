package recording

import "hdb/capture"

// Why a recording has not all events of the run: kept in the capture, see
// capture.Info.
const (
	BeganLate      = "it began within the run"       // by an attach: times count from there
	StartedLate    = "it was started within the run" // by a command: times count from the run's start
	EndedEarly     = "it ended before the program"
	EndedFull      = "it ended when it was large enough"
	EndedUnwritten = capture.Unwritten
	DroppedOlder   = "older events were dropped"
	WasPaused      = "it was paused"
	WasStopped     = "it was stopped for a while" // and started again
	FreedUnseen    = capture.FreedUnseen
)
