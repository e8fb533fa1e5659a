package file

import "hdb/capture"

// maxSeq bounds the numbers that events may be given: a recording of a lifetime has none
// as high, and the format counts on them not to wrap.
const maxSeq = 1 << 62

// numberAfter is the number that an event gets behind event #before: its own if that is
// higher and below maxSeq, the next one otherwise.
func numberAfter(e *capture.Event, before uint64) uint64 {
	if e.Seq > before && e.Seq < maxSeq {
		return e.Seq
	}
	return before + 1
}

// renumbered reports whether an event that is stored as #seq had another number before, by
// which other events may refer to it.
func renumbered(e *capture.Event, seq uint64) bool { return e.Seq != seq && e.Seq != 0 }

// storeEvent makes d the event as it is stored: with its number after event #before, see
// numberAfter, and its time cut to whole units of Resolution. The fields are copied
// one by one: e was written so a moment ago, and a processor waits for small stores
// to reach the cache when a large load spans them.
func storeEvent(d, e *capture.Event, before uint64) {
	d.Seq = numberAfter(e, before)
	d.Time = e.Time.Truncate(capture.Resolution)
	d.Addr, d.Size, d.Old, d.Aux = e.Addr, e.Size, e.Old, e.Aux
	d.TID = e.TID
	d.Stack = e.Stack
	d.Func, d.Kind, d.Failed, d.Abandoned = e.Func, e.Kind, e.Failed, e.Abandoned
	d.Ended.Size, d.Ended.Stack, d.Ended.Seq = e.Ended.Size, e.Ended.Stack, e.Ended.Seq
	d.Ended.Recorded, d.Ended.Temporary = e.Ended.Recorded, e.Ended.Temporary
}

// normalInfo is the info as it is stored.
func normalInfo(i capture.Info) capture.Info {
	i.Version = version
	i.Start = i.Start.Round(0).UTC()
	return i
}
