package report

import (
	"fmt"

	"hdb/capture"
)

// reasonWords has for each kind of reasons the words without its text, and with it.
var reasonWords = map[capture.ReasonKind][2]string{
	capture.BeganLate:    {"it began when hdb attached: blocks from before are not counted"},
	capture.StartedLate:  {"it was started within the run"},
	capture.EndedEarly:   {"it ended before the program"},
	capture.EndedFull:    {"it ended when it was large enough"},
	capture.Unwritten:    {"it ended when it could no longer be written"},
	capture.DroppedOlder: {"older events were dropped"},
	capture.Paused:       {"it was paused"},
	capture.Stopped:      {"it was stopped for a while"},
	capture.OnlyEvents:   {"only some events", "only events with %s"},
	capture.SomeEvents:   {"some events were recorded", "%s events were recorded"},
	capture.Trimmed:      {"it was trimmed"},
	capture.FreedUnseen:  {"blocks may have been allocated or freed while calls were not followed: live and peak may be too high or too low"},
	capture.GoHeap:       {"what the Go runtime allocates is not counted"},
	capture.OpenEnd:      {"the file was not closed, or was cut off: events at its end may be missing"},
	capture.Failed:       {"hdb failed while it recorded", "hdb failed while it recorded: %s"},
	capture.RingFull:     {"hdb was too slow: the ring had no room for them"},
	capture.ManyThreads:  {"made by more threads than the probe has places for"},
	capture.TornRecord:   {"begun by a thread that ended within its record"},
	capture.NotFollowed:  {"plain breakpoints could not follow them", "plain breakpoints could not follow them: %s"},
	capture.DamagedPart:  {"a damaged part of the capture"},
	capture.PythonHeap:   {"it has no Python blocks of up to 512 bytes: --python-allocators records them"},
	capture.NoAllocator:  {"no allocator function was known in the program: what it allocates is not counted; alloc add names such functions"},
	capture.AtStops:      {"record start was not used", "record start was not used: only %s events were recorded, those at which the program stopped and the ends of their blocks"},
	capture.DamagedEnd:   {"the end of the capture is missing: these at least"},
}

// ReasonText is a reason in words. They may hold foreign names.
func ReasonText(r capture.Reason) string {
	words, ok := reasonWords[r.Kind]
	switch {
	case !ok:
		return "a reason that this hdb does not know"
	case words[1] == "" || r.Text == "":
		return words[0]
	}
	return fmt.Sprintf(words[1], r.Text)
}

// ReasonTexts are reasons in words, nil if there are none.
func ReasonTexts(reasons capture.Reasons) []string {
	var texts []string
	for _, r := range reasons {
		texts = append(texts, ReasonText(r))
	}
	return texts
}

// A Doubt is why blocks that seem to live may not, or may not be all.
type Doubt uint8

// The doubts.
const (
	NoDoubt          Doubt = iota
	UnfollowedThen         // not every call was followed while a capture was made
	UnfollowedSince        // nor since in the process
	CountsMayBeWrong       // of conditions that ask for the live heap: UnfollowedThen,
	CountsUnknown          // UnfollowedSince,
	CountsMayBeLow         // or the calls before the first
)

// doubtWords are the words for doubts.
var doubtWords = [...]string{
	UnfollowedThen:   "some allocator calls were not followed during the recording: blocks that appear live may be freed",
	UnfollowedSince:  "the program ran on while some allocator calls were not followed: blocks that appear live may be freed by now",
	CountsMayBeWrong: "live and blocks may be too high or too low: blocks may have been allocated or freed while calls were not followed",
	CountsUnknown: "live and blocks are unknown: the program ran on while some allocator calls were not followed, " +
		"and blocks that they count may be freed by now",
	CountsMayBeLow: "live and blocks may be too low: blocks from before allocator calls were followed are not counted",
}

// DoubtText is a doubt in words, "" for none.
func DoubtText(d Doubt) string { return doubtWords[d] }
