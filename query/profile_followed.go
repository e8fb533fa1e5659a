package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/heap"
	"hdb/report"
)

// followEvents adds the stacks to a profile by following the events behind #from up to #to,
// which tell threads apart, and blocks that were allocated since a moment. It needs memory
// for each live block, see heap.Threads.
func (r *Recording) followEvents(from, to, peak uint64, p *report.Profile, parts ProfileParts) error {
	src, x := r.Source, r.Index
	if src.Info().Aggregate {
		return ErrSums
	}
	threads := src.Threads()
	wanted, err := wantedThreads(threads, parts.Thread)
	if err != nil {
		return err
	}
	var then heap.Totals
	if from > 0 {
		then = *x.Totals(from)
		p.Begin = max(p.Begin, then.Time)
		p.Events -= then.Events
	}
	p.Threads = parts.Threads && len(threads) > 1
	moments := momentsOf(x, p, then, peak, parts)
	flows := heap.NewThreads(x.Source())
	if parts.Slots {
		flows.ClassOf = goruntime.SlotSize
	}
	levels := make([]level, len(moments)) // by moment
	flows.Follow(from, to, moments, func(i int) { levels[i] = levelOf(flows, moments[i] == peak) })
	apart := p.Threads || wanted != nil
	rows := rowsOf(flows.Flows(), wanted, apart)
	addRows(p, flows.Flows(), rows, threads, apart)
	var snapshots []report.Snapshot
	for i := range levels {
		l := &levels[i]
		if moments[i] == peak {
			p.Peak = l.moment
			for k, row := range rows {
				p.Stacks[k].Peak, p.Stacks[k].PeakBlocks = l.of(row)
			}
		}
		if parts.Snapshots {
			snapshots = append(snapshots, l.snapshot(rows))
		}
	}
	part := from > 0 || wanted != nil
	if part {
		total := p.Total()
		p.Moment.Live, p.Moment.Blocks = total.Live, total.LiveBlocks
		p.Peak.Live, p.Peak.Blocks = total.Peak, total.PeakBlocks
	}
	if parts.Line && !(part && parts.Snapshots) { // the line of a part is its snapshots'
		p.Timeline = timeline(x.Timeline(to, profileMoments), p.Moment)
	}
	if parts.Snapshots {
		addSnapshots(p, snapshots, p.Moment)
	}
	return nil
}

// addRows adds a stack to a profile for each row of flows, with its thread if threads are
// distinguished.
func addRows(p *report.Profile, flows []heap.ThreadFlow, rows [][]int, threads []capture.Thread, apart bool) {
	called := map[int32]string{}
	for _, t := range threads {
		called[t.TID] = t.Name
	}
	for _, row := range rows {
		sum := flows[row[0]]
		for _, i := range row[1:] {
			sum.Add(&flows[i].Flow)
		}
		st := stackRow(&sum.Flow)
		st.Slot = sum.Class
		if apart {
			st.TID, st.Thread = sum.TID, called[sum.TID]
		}
		p.Stacks = append(p.Stacks, st)
	}
}

// text is the part of the recording that the title of a profile names.
func (parts *ProfileParts) text() string {
	text := ""
	if parts.Thread != "" {
		text += ", thread " + parts.Thread
	}
	if !parts.From.IsPresent() {
		text += ", from " + parts.From.String()
	}
	if !parts.To.IsPresent() {
		text += ", to " + parts.To.String()
	}
	return text
}

// rowsOf groups the indexes of flows by row: a row is a stack and a class of sizes and, if threads
// are distinguished, a thread. Rows are in the order of the stacks.
func rowsOf(flows []heap.ThreadFlow, wanted map[int32]bool, apart bool) (rows [][]int) {
	var all []int
	for i, f := range flows {
		if f.Allocs > 0 && (wanted == nil || wanted[f.TID]) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(flows[a].Stack, flows[b].Stack), cmp.Compare(flows[a].Class, flows[b].Class), cmp.Compare(flows[a].TID, flows[b].TID))
	})
	for k, i := range all {
		if n := len(rows); k > 0 && !apart && flows[all[k-1]].Stack == flows[i].Stack && flows[all[k-1]].Class == flows[i].Class {
			rows[n-1] = append(rows[n-1], i)
			continue
		}
		rows = append(rows, []int{i})
	}
	return rows
}

// wantedThreads are the threads with the name or TID; nil are all.
func wantedThreads(threads []capture.Thread, name string) (map[int32]bool, error) {
	if name == "" {
		return nil, nil
	}
	wanted := map[int32]bool{}
	tid, err := strconv.ParseInt(name, 10, 32)
	var known []string
	for _, t := range threads {
		if t.Name == name || err == nil && int64(t.TID) == tid {
			wanted[t.TID] = true
		}
		if known = append(known, fmt.Sprintf("%d %q", t.TID, t.Name)); len(known) > 8 {
			known = append(known[:8], "...")
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("thread %q: no such name or TID: there are %s", name, strings.Join(known, ", "))
	}
	return wanted, nil
}

// A level is what was live at a moment, by flow.
type level struct {
	moment report.Moment
	bytes  []uint64
	blocks []uint64 // only at the peak
}

// levelOf is the level of the flows now.
func levelOf(flows *heap.Threads, peak bool) level {
	at := flows.Now()
	l := level{moment: report.Moment{Seq: at.Seq, Time: at.Time, Live: at.Live, Blocks: at.Blocks}}
	for i := range flows.Flows() {
		bytes, blocks := heap.LiveOf(&flows.Flows()[i].Flow)
		if l.bytes = append(l.bytes, bytes); peak {
			l.blocks = append(l.blocks, blocks)
		}
	}
	return l
}

// of is the sum over the flows of a row. A flow that began later had nothing.
func (l *level) of(row []int) (bytes, blocks uint64) {
	for _, flow := range row {
		if flow < len(l.bytes) {
			bytes += l.bytes[flow]
		}
		if flow < len(l.blocks) {
			blocks += l.blocks[flow]
		}
	}
	return bytes, blocks
}

// snapshot is the level of the rows.
func (l *level) snapshot(rows [][]int) report.Snapshot {
	s := report.Snapshot{Moment: l.moment, Stacks: make([]uint64, len(rows))}
	s.Live = 0
	for k, row := range rows {
		s.Stacks[k], _ = l.of(row)
		s.Live += s.Stacks[k]
	}
	return s
}
