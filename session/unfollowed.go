package session

import (
	"slices"

	"hdb/internal/cond"
)

// unfollowed is what is in doubt since the program ran while not every allocator call
// reached hdb: nothing asked for them, or the probe looked out for some only.
type unfollowed struct {
	calls  bool // there may have been such calls: of the blocks that they made nothing is known
	counts bool // blocks lived then that the live heap counts, which may be freed
	blind  bool // recorded ones were among them
}

// noteUnfollowed notes what will not be known of blocks when the program goes on, as it
// does now. All of its threads stand.
func (s *Session) noteUnfollowed() {
	tr := &s.trace
	tr.ranOn = tr.ended
	if !s.followsAll() {
		watched := 0
		if s.probe != nil && s.probe.Armed() {
			watched = len(s.probe.Watches()) // all that are recorded, or none
		}
		tr.unfollowed.calls = true
		tr.unfollowed.counts = tr.unfollowed.counts || tr.live.Blocks() > watched
		tr.unfollowed.blind = tr.unfollowed.blind || watched == 0 && tr.holdsLogged()
	}
	if tr.unfollowed.blind && s.eventsArmed() { // there may be recorded events behind the gap
		s.notePartial(freedUnseen)
	}
}

// followsAll tells whether every allocator call reaches hdb.
func (s *Session) followsAll() bool {
	return s.tracer.Armed() || s.probe != nil && s.probe.Recording()
}

// holdsLogged tells whether recorded blocks are live.
func (tr *trace) holdsLogged() bool {
	if tr.logged == 0 {
		return false
	}
	for _, b := range tr.live.All() {
		if b.Logged {
			return true
		}
	}
	return false
}

// LiveDoubt says why recorded blocks that seem to be live may not be, "" if they are.
func (s *Session) LiveDoubt() string {
	switch {
	case s.saved != nil && slices.Contains(s.saved.Info().Partial, freedUnseen):
		return "not every allocator call was followed while this was recorded: blocks that seem to live may be freed"
	case s.saved == nil && s.trace.unfollowed.blind:
		return ranUnfollowed
	}
	return ""
}

const ranUnfollowed = "the program ran on while not every allocator call was followed: blocks that seem to live may be freed by now"

// countsDoubt says why live and blocks may not be what a condition that asks for them
// takes them for, "" if they are.
func (s *Session) countsDoubt(c *cond.Cond) string {
	u := &s.trace.unfollowed
	switch {
	case c == nil || !c.Uses(cond.Live) && !c.Uses(cond.Blocks):
		return ""
	case s.saved != nil && s.LiveDoubt() != "":
		return "live and blocks may be too high: blocks that they count may have been freed while calls were not followed"
	case s.saved != nil:
		return ""
	case u.counts:
		return "live and blocks are not known: the program ran on while not every allocator call was followed, and blocks that they count may be freed by now"
	case u.calls:
		return "live and blocks may be too low: they count no blocks from before allocator calls were followed"
	}
	return ""
}

// warnCounts says so, once in a run for the same condition and doubt.
func (s *Session) warnCounts(c *cond.Cond) {
	doubt := s.countsDoubt(c)
	if doubt == "" || s.said[c.String()+doubt] {
		return
	}
	if s.said == nil { // a capture is open
		s.said = map[string]bool{}
	}
	s.said[c.String()+doubt] = true
	s.notify("%s: %s", c, doubt)
}
