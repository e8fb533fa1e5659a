package main

import (
	"fmt"

	"hdb/internal/units"
	"hdb/session/recordings"
)

// tellBounds says what the bounds did to the recording.
func (r *recorder) tellBounds(st *recordings.RecordStatus) {
	switch {
	case st.Full:
		r.say(fmt.Sprintf("--max-size: %s has %s, and the recording has ended", r.file, units.Short(st.Bytes)))
	case st.Left > 0:
		r.say(fmt.Sprintf("the last %s kept of %d: what was allocated before is not in the recording", units.Count(st.Left, "event"), st.Recorded))
	case st.Bounds.Aggregate:
		r.say("--aggregate: totals for each stack were kept, and no events")
	}
}
