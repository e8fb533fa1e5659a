package heap

import (
	"hdb/capture"
)

// A Ledger decides what each event does to the heap: which block it made, which one it
// ended, and whether that was a temporary one. It does so once, in the order in which calls
// are taken in, and writes it into the event, see capture.Ended; whatever counts blocks
// later adds that up. The short way of PostAll for most events, in ledger_plain.go, decides
// the same.
type Ledger struct {
	Live
	mapped Mappings // recorded ones
	last   uint64   // the event that made a block last, 0 if none has
	strays uint64
}

// NewLedger is the ledger of an empty heap.
func NewLedger() *Ledger {
	l := &Ledger{}
	l.blocks.init()
	return l
}

// Strays is how many blocks were freed that were not live here, and whose size the call did
// not say: they were made unseen.
func (l *Ledger) Strays() uint64 { return l.strays }

// Post decides what an event does, and brings the heap to the moment after it. A new block
// is noted as logged if the event will be recorded. The block that the event ended is
// returned also if it was not logged; the event tells it only if it was. The free of a known
// block is given its size.
//
// A free ends its block, and a realloc the one handed in, unless it failed; a size of 0
// frees that, too, although glibc returns NULL then. A block that lies where another one is
// put has ended unseen, for example before an attach: if nothing else did, the event ends it.
// Where a realloc would end two, Unseen takes the second before.
func (l *Ledger) Post(e *capture.Event, logged bool) (ended Block, ok bool) {
	switch {
	case e.Kind.Maps():
		if logged {
			l.LoggedMapping(e)
		}
	case e.Kind == capture.Free:
		if ended, ok = l.Take(e.Addr); ok {
			e.Size = ended.Size
		} else if e.Size == 0 && e.Addr != 0 {
			l.strays++
		}
	case e.Kind == capture.Realloc && e.Old != 0 && (!e.Failed || e.Size == 0):
		ended, ok = l.Take(e.Old)
	}
	temporary := ok && ended.Seq == l.last
	if e.Allocates() {
		unseen, replaced := l.Put(e.Addr, Block{Seq: e.Seq, Size: e.Size, Stack: e.Stack, Logged: logged})
		if replaced && !ok {
			ended, ok = unseen, true
		}
		l.last = e.Seq
	}
	e.Ended = ended.effect(temporary)
	return ended, ok
}

// ChangesMapped reports whether an event changes a recorded mapping, so that it has to be
// recorded, too.
func (l *Ledger) ChangesMapped(e *capture.Event) bool { return e.Kind.Maps() && l.mapped.Touches(e) }

// AnyMapped reports whether a recorded mapping is live.
func (l *Ledger) AnyMapped() bool { return len(l.mapped.list) > 0 }

// LoggedMapping says that an event is recorded. Post asks it if that was known then.
func (l *Ledger) LoggedMapping(e *capture.Event) {
	if e.Kind.Maps() {
		l.mapped.Post(e, "")
	}
}

// End takes a block out of the heap by e, which is not an event of its own. If the block was
// recorded, it returns the event of its end, without number, function and stack.
func (l *Ledger) End(e *capture.Event, at uint64) (end capture.Event, logged bool) {
	b, ok := l.Take(at)
	if !ok || !b.Logged {
		return end, false
	}
	return capture.Event{
		Time: e.Time, TID: e.TID, Kind: capture.Free, Addr: at, Size: b.Size, Ended: b.effect(b.Seq == l.last),
	}, true
}

// effect is what the event that ends the block says of it.
func (b Block) effect(temporary bool) capture.Ended {
	if !b.Logged {
		return capture.Ended{}
	}
	return capture.Ended{Size: b.Size, Stack: b.Stack, Recorded: true, Temporary: temporary, Seq: b.Seq}
}

// Unseen takes the logged block out of the heap that is at the address at which e, a realloc that
// is to be posted, put another one than was handed in. It returns the end of the block, an event of
// its own that has to be recorded in front of e.
func (l *Ledger) Unseen(e *capture.Event) (end capture.Event, ok bool) {
	if !l.isUnseen(e) {
		return end, false
	}
	b, _ := l.Take(e.Addr)
	return capture.Event{
		Seq: e.Seq, Time: e.Time, Kind: capture.Free, Addr: e.Addr, Size: b.Size, TID: e.TID, Ended: b.effect(false),
	}, true
}

func (l *Ledger) isUnseen(e *capture.Event) bool {
	if e.Kind != capture.Realloc || e.Old == 0 || e.Old == e.Addr || !e.Allocates() {
		return false
	}
	b, ok := l.At(e.Addr)
	return ok && b.Logged
}

// Missed says that calls may have been missed: it is no longer known which block was made last.
func (l *Ledger) Missed() { l.last = 0 }

// PostAll posts events up to the first for which Unseen has to be asked, and returns how many those
// are. The events' numbers must rise, one that failed must have no address, and a capture.Alloc no
// old block. It takes half the time of Post: what most events do is done at once, and what a large
// heap knows the blocks comes into the processor's cache for many events together.
func (l *Ledger) PostAll(events []capture.Event, logged bool) int {
	if l.blocks.large() && len(events) > ahead {
		// Not more than stays in the cache until it is used.
		for done := 0; done < len(events); {
			some := events[done:min(done+ahead, len(events))]
			n := l.postSome(some, logged)
			if done += n; n < len(some) {
				return done
			}
		}
		return len(events)
	}
	return l.postSome(events, logged)
}

// postSome is PostAll for events that are few enough to have the memory of their blocks fetched
// together: no more than ahead, if the heap is large.
func (l *Ledger) postSome(events []capture.Event, logged bool) int {
	if l.blocks.large() {
		l.blocks.fetch(events)
	}
	flags := cellFlags(logged)
	plain := len(events) > 0 && events[len(events)-1].Seq <= maxSeq
	n := uint(len(events))
	for i := uint(0); i < n; i++ {
		if plain {
			if i = l.postPlain(events, i, flags); i >= n {
				break
			}
		}
		e := &events[i]
		if e.Allocates() && l.allocated(e, flags) {
			continue
		}
		if l.isUnseen(e) {
			return int(i)
		}
		l.Post(e, logged)
	}
	return len(events)
}
