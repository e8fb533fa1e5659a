package session

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// addThreads adds to a profile rows for stacks and threads, with what they have at
// its moments. All events up to #to are looked at, as the totals do not tell threads
// apart; it takes memory for what is live, as heap.Threads says.
func (s *Session) addThreads(src capture.Source, x *heap.Index, to uint64, p *report.Profile, parts ProfileParts) error {
	if err := s.NoEvents(); err != nil {
		return fmt.Errorf("threads: %w", err)
	}
	threads := src.Threads()
	wanted, err := wantedThreads(threads, parts.Thread)
	if err != nil {
		return err
	}
	if parts.Thread != "" {
		p.Title += ", thread " + parts.Thread
	}
	p.Threads = parts.Threads
	names := map[int32]string{}
	for _, t := range threads {
		names[t.TID] = t.Name
	}
	moments, peak := momentsOf(x, to, p, parts)
	flows := heap.NewThreads(x.Source())
	levels := make([]threadLevel, len(moments)) // by moment
	flows.Follow(to, moments, func(i int) {
		levels[i] = levelOf(flows, moments[i] == peak)
	})
	var rows []int // indexes of flows
	for i, f := range flows.Flows() {
		if f.Allocs > 0 && (wanted == nil || wanted[f.TID]) {
			rows = append(rows, i)
		}
	}
	all := flows.Flows()
	slices.SortFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Stack, all[b].Stack), cmp.Compare(all[a].TID, all[b].TID))
	})
	for _, i := range rows {
		st := stackRow(&all[i].Flow)
		st.TID, st.Thread = all[i].TID, names[all[i].TID]
		p.Stacks = append(p.Stacks, st)
	}
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
	if parts.Line {
		p.Timeline = timeline(x.Timeline(to, profileMoments), p.Moment)
	}
	if parts.Snapshots {
		now := p.Moment
		total := p.Total()
		now.Live, now.Blocks = total.Live, total.LiveBlocks
		addSnapshots(p, snapshots, now)
	}
	return nil
}

// wantedThreads are those of the name or TID; nil are all.
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

// A threadLevel is what was live at a moment, by the flows of threads.
type threadLevel struct {
	moment report.Moment
	bytes  []uint64
	blocks []uint64 // only at the peak
}

// levelOf is that of now.
func levelOf(flows *heap.Threads, peak bool) threadLevel {
	at := flows.Point()
	l := threadLevel{moment: report.Moment{Seq: at.Seq, Time: at.Time, Live: at.Live, Blocks: at.Blocks}}
	for i := range flows.Flows() {
		bytes, blocks := heap.LiveOf(&flows.Flows()[i].Flow)
		if l.bytes = append(l.bytes, bytes); peak {
			l.blocks = append(l.blocks, blocks)
		}
	}
	return l
}

// of is what a flow had; nothing before it began.
func (l *threadLevel) of(flow int) (bytes, blocks uint64) {
	if flow < len(l.bytes) {
		bytes = l.bytes[flow]
	}
	if flow < len(l.blocks) {
		blocks = l.blocks[flow]
	}
	return bytes, blocks
}

// snapshot is of the flows that have rows.
func (l *threadLevel) snapshot(rows []int) report.Snapshot {
	s := report.Snapshot{Moment: l.moment, Stacks: make([]uint64, len(rows))}
	s.Live = 0
	for k, row := range rows {
		s.Stacks[k], _ = l.of(row)
		s.Live += s.Stacks[k]
	}
	return s
}
