package capture

// A Loss tells that calls are missing from the recording: what recorded was too
// slow, or could not follow them. They have no numbers, unless the recorder left
// some out.
type Loss struct {
	After  uint64 // the last event recorded before, 0 if none was
	Count  uint64 // how many calls
	Reason Reason
}
