package recording

import (
	"slices"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/probe"
)

// A Loss is a number of calls that are in no event, for one reason.
type Loss struct {
	Count  uint64
	Reason capture.Reason
}

// Losses are the calls of a run that are in no event. The zero value is for a run that begins.
type Losses struct {
	probes   probe.Stats       // of those that have ended,
	tracers  breakpoints.Stats // and Lost and LostCause of these
	recorded lossCounts        // that are in the recording
	unwarned uint64            // losses that the user was not warned of,
	cause    capture.Reason    // why the first of them,
	warned   time.Time         // and when they last were
}

// lossCounts are losses by cause.
type lossCounts struct {
	full     uint64 // no room in the ring
	noThread uint64 // of threads that the probe had no place for
	torn     uint64 // records that were never completed
	tracer   uint64 // that plain breakpoints could not follow
}

// EndProbe adds the counts of a probe that has ended.
func (l *Losses) EndProbe(s probe.Stats) { l.probes = l.probes.Add(s) }

// EndTracer adds the counts of a tracer that has ended.
func (l *Losses) EndTracer(s breakpoints.Stats) { l.tracers = l.tracer(s) }

// Probe are the counts of all probes of the run, of which the present one has counted so
// much.
func (l *Losses) Probe(now probe.Stats) probe.Stats { return l.probes.Add(now) }

// tracer are the losses of all tracers of the run.
func (l *Losses) tracer(now breakpoints.Stats) breakpoints.Stats {
	sum := breakpoints.Stats{Lost: l.tracers.Lost + now.Lost, LostCause: l.tracers.LostCause}
	if now.LostCause != nil {
		sum.LostCause = now.LostCause
	}
	return sum
}

// All are the losses of the run, by what the present probe and tracer have counted.
func (l *Losses) All(p probe.Stats, t breakpoints.Stats) []Loss {
	return l.counts(p, t).list(l.tracer(t).LostCause)
}

func (l *Losses) counts(p probe.Stats, t breakpoints.Stats) lossCounts {
	p = l.Probe(p)
	return lossCounts{p.Lost, p.NoThread, p.Torn, l.tracer(t).Lost}
}

// Fresh are the losses since it was called last.
func (l *Losses) Fresh(p probe.Stats, t breakpoints.Stats) []Loss {
	now := l.counts(p, t)
	fresh := now.minus(l.recorded).list(l.tracer(t).LostCause)
	l.recorded = now
	for _, loss := range fresh {
		if l.unwarned == 0 {
			l.cause = loss.Reason
		}
		l.unwarned += loss.Count
	}
	return fresh
}

// list is the losses that there are, each with its reason. cause is why plain breakpoints
// lost calls, if that is known.
func (c lossCounts) list(cause error) []Loss {
	tracer := capture.Reason{Kind: capture.NotFollowed}
	if cause != nil {
		tracer.Text = cause.Error()
	}
	return slices.DeleteFunc([]Loss{
		{c.full, capture.Reason{Kind: capture.RingFull}},
		{c.noThread, capture.Reason{Kind: capture.ManyThreads}},
		{c.torn, capture.Reason{Kind: capture.TornRecord}},
		{c.tracer, tracer},
	}, func(l Loss) bool { return l.Count == 0 })
}

func (c lossCounts) minus(o lossCounts) lossCounts {
	return lossCounts{c.full - o.full, c.noThread - o.noThread, c.torn - o.torn, c.tracer - o.tracer}
}

// Warning is how many calls were lost that the user must be warned of, and why the first was lost,
// 0 if there are none: at most once a second, `record status` shows them all.
func (l *Losses) Warning() (calls uint64, why capture.Reason) {
	if l.unwarned == 0 || time.Since(l.warned) < time.Second {
		return 0, capture.Reason{}
	}
	calls = l.unwarned
	l.unwarned, l.warned = 0, time.Now()
	return calls, l.cause
}
