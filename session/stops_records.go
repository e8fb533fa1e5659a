package session

import (
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/cformat"
	"hdb/internal/cond"
	"hdb/recording"
	"hdb/session/target"
)

// printsRecords reports whether a stop prints what the probe's records describe events, of which
// its condition asks no more either: the program need not stop for it. One that disables itself is
// not such a one: where the ring is drained only hits are counted.
func printsRecords(st *breakpoints.Stop) bool {
	if !st.Enabled || st.Left > 0 || st.Print == nil || !onEvents(st) || st.Cond != nil && st.Cond.UsesProgram() {
		return false
	}
	_, ok := recordedArguments(st.Print)
	return ok
}

// recordedArguments are the fields of events that a format's arguments are; false: some
// argument is something else.
func recordedArguments(f *cformat.Format) (fields []cond.Field, ok bool) {
	for i, kind := range f.Kinds() {
		name, word := strings.CutPrefix(f.Args[i], "$")
		if name == "event" {
			name = cond.Nth.String()
		}
		field, known := cond.FieldNamed(name)
		if !word || !known || kind != cformat.Integer {
			return nil, false
		}
		fields = append(fields, field)
	}
	return fields, true
}

// A recordPrinter makes the texts of a stop's events by their records. It works where the
// ring is drained.
type recordPrinter struct {
	*printedRecords
	stop   *breakpoints.Stop
	about  map[*breakpoints.Function]bool // whether the stop is about calls of a function, as far as it was asked
	fields []cond.Field
	failed bool // the user was warned that an argument had no value
}

// printedRecords are texts in the order of events, of all stops.
type printedRecords struct {
	target *target.Target
	texts  []string
}

// watches are the printers of the stops that print records.
func (d *dataPlane) watches() (all []*recording.Watch) {
	printed := &printedRecords{target: d.target}
	for _, st := range d.demand.stops.All() {
		if printsRecords(st) {
			fields, _ := recordedArguments(st.Print)
			p := &recordPrinter{printedRecords: printed, stop: st, fields: fields, about: map[*breakpoints.Function]bool{}}
			all = append(all, recording.NewWatch(st.Cond, p.see, p.print))
		}
	}
	return all
}

// see keeps the text of an event that the stop wants.
func (p *recordPrinter) see(e *capture.Event, fn *breakpoints.Function, env cond.Env) {
	about, known := p.about[fn]
	if !known {
		about = p.stop.Wants(breakpoints.Call{Function: *fn, Event: *e})
		p.about[fn] = about
	}
	if !about || !p.stop.Check(env) {
		return
	}
	text, err := p.stop.Print.Expand(func(i int, _ cformat.Kind) (any, error) {
		v, ok := env.Number(p.fields[i])
		if !ok {
			return nil, fmt.Errorf("%s: the value is void", p.stop.Print.Args[i])
		}
		return v, nil
	})
	switch {
	case err == nil:
		p.texts = append(p.texts, text)
	case !p.failed:
		p.failed = true
		p.print() // what came before
		p.target.Notify("dprintf %d: %v", p.stop.ID, err)
	}
}

// print prints what was kept.
func (p *printedRecords) print() {
	if len(p.texts) > 0 {
		p.target.Config.Print(p.texts...)
		clear(p.texts)
		p.texts = p.texts[:0]
	}
}

// printsAll reports whether a stop that prints records is about calls of which records alone
// decide: one that names functions is also about others that had these do their work.
func printsAll(st *breakpoints.Stop) bool { return len(st.Funcs) == 0 }

// printsStacks reports whether a stop that prints records, or one on state, asks for stacks.
func (d *demands) printsStacks() bool {
	return slices.ContainsFunc(d.stops.All(), func(st *breakpoints.Stop) bool {
		if asked := st.When.Asked(); asked != nil && st.Enabled && asked.UsesStack() {
			return true
		}
		return printsRecords(st) && st.Cond != nil && st.Cond.UsesStack()
	})
}
