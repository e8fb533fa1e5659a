package console

import (
	"context"
	"iter"
	"strings"

	"hdb/internal/cond"
	"hdb/session"
)

// An eventList is how a command lists events.
type eventList struct {
	in        Input
	condition *cond.Cond // which they match, nil: any
	which     string     // those that are shown when not all are: "the last"
	none      string     // what is said when there are none
	below     func(o *output)
}

// listed is what the rows of a list are of.
type listed struct {
	total int
	more  bool // there may be more than total
}

// listPart is how many events are laid out before they are printed: somebody who has seen
// enough, or an output that is full, ends a list of millions at the next part.
const listPart = 256

// list prints events as they are found, or why there are none: as a table with the place
// in the user's code, or as an object of JSON. of is asked behind the last one.
func (c *Console) list(ctx context.Context, l eventList, events iter.Seq[*session.Event], of func() listed) error {
	show := c.eventTable(l)
	if c.cfg.JSON {
		c.notices.hold() // their lines have no place within this one
		defer c.notices.release()
		show = c.eventObject(l)
	}
	var part []*session.Event
	for e := range events {
		if ctx.Err() != nil {
			show.cut()
			return errInterrupted
		}
		if part = append(part, e); len(part) < listPart {
			continue
		}
		if show.add(part); c.out.stopped() {
			show.cut()
			return nil
		}
		part = part[:0]
	}
	if len(part) > 0 {
		show.add(part)
	}
	show.end(of())
	return nil
}

// An eventPrinter prints a list part by part.
type eventPrinter struct {
	add func(part []*session.Event)
	end func(of listed)
	cut func() // ends a list of which not all was printed
}

func (c *Console) eventTable(l eventList) eventPrinter {
	names := c.threadNames()
	table := longTable{o: c.out, columns: eventColumns}
	shown := 0
	return eventPrinter{
		add: func(part []*session.Event) {
			shown += len(part)
			rows := make([][]span, len(part))
			for i, e := range part {
				rows[i] = c.eventRow(e, viewEvent(e), c.eventPlace(e), names)
			}
			table.add(rows)
		},
		end: func(of listed) {
			c.out.endOfList(l, shown, of)
			c.out.careful(c.s.Gaps())
		},
		cut: func() {},
	}
}

// endOfList is what stands below a list.
func (o *output) endOfList(l eventList, shown int, of listed) {
	if l.below != nil {
		defer l.below(o)
	}
	if of.total == 0 {
		o.printf("%s\n", l.none)
		return
	}
	if shown == of.total && !of.more {
		return
	}
	all := l.in.Name + " all"
	if l.condition != nil {
		all += " if ..."
	}
	total := grouped(of.total)
	if of.more {
		total += " or more"
	}
	o.printf("%s %d of %s; `%s` lists all\n", l.which, shown, total, all)
}

// eventObject prints {"v":1,"command":NAME,"events":[...],"total":N}.
func (c *Console) eventObject(l eventList) eventPrinter {
	head := strings.TrimSuffix(jsonLine(l.in.Name, struct{}{}), "}\n")
	before := head + `,"events":[`
	return eventPrinter{
		add: func(part []*session.Event) {
			var b strings.Builder
			for _, e := range part {
				v, where := viewEvent(e), c.eventPlace(e)
				v.Where = strings.TrimSpace(where[0].text + " " + where[1].text)
				b.WriteString(before)
				b.WriteString(jsonText(v))
				before = ","
			}
			c.out.raw(b.String())
		},
		end: func(of listed) {
			rest := jsonLine(l.in.Name, struct {
				Total int  `json:"total"`
				More  bool `json:"more,omitempty"`
			}{of.total, of.more}, c.s.Gaps()...)
			c.out.raw(strings.TrimPrefix(before, ",") + "]" + rest[len(head):])
		},
		cut: func() {
			defer c.out.whole()()
			c.out.raw("\n")
		},
	}
}
