package query

import (
	"cmp"
	"slices"

	"hdb/capture"
	"hdb/heap"
	"hdb/report"
)

// countsMapping reports whether the peak counts pages, besides blocks: those that the program has
// mapped itself. What allocators map holds their blocks, which count already.
func (r *Recording) countsMapping() func(*heap.Mapping) bool {
	by := map[capture.StackID]*mapper{}
	return func(p *heap.Mapping) bool {
		if by[p.Stack] == nil {
			by[p.Stack] = r.mapper(p.Stack)
		}
		return by[p.Stack].program(p)
	}
}

// CountMappings has the peak of the recording's index count the mappings of the program.
func (r *Recording) CountMappings() { r.Index.CountMappings(r.countsMapping()) }

// LiveBytes is how many bytes are live at the end: in blocks, and mapped by the program.
func (r *Recording) LiveBytes() uint64 {
	return r.Index.Totals(heap.End).Live + r.mappedBetween(0, heap.End).Sums[ProgramMapped].Bytes
}

// A mappedKey is a stack of calls that map, and their thread where threads are distinguished.
type mappedKey struct {
	stack capture.StackID
	tid   int32
}

// profileMappings adds the mappings of the program that were made behind event #from to a profile:
// those that are live after event #to, were after the peak, and at the moments of its snapshots.
func (r *Recording) profileMappings(p *report.Profile, from, to, peak uint64, wanted map[int32]bool) {
	apart := p.Threads || wanted != nil
	rows := map[mappedKey]*report.Stack{}
	rowOf := func(id capture.StackID, tid int32) *report.Stack {
		if wanted != nil && !wanted[tid] {
			return nil
		}
		k := mappedKey{id, tid}
		if !apart {
			k.tid = 0
		}
		if rows[k] == nil {
			rows[k] = &report.Stack{ID: id, TID: k.tid, Mapped: true}
		}
		return rows[k]
	}
	program := func(at uint64, take func(*report.Stack, uint64)) {
		for _, m := range r.mappedBetween(from, at).Blocks {
			if st := rowOf(m.Stack, m.TID); m.Layer == ProgramMapped && st != nil {
				take(st, m.Size)
			}
		}
	}
	program(to, func(st *report.Stack, n uint64) { st.Live += n })
	if peak > 0 {
		program(peak, func(st *report.Stack, n uint64) {
			st.Peak += n
			p.PeakMapped.Bytes += n
			p.PeakMapped.Count++
		})
	}
	levels := make([]map[mappedKey]uint64, len(p.Snapshots))
	for i := range p.Snapshots {
		level := map[mappedKey]uint64{}
		program(p.Snapshots[i].Seq, func(st *report.Stack, n uint64) { level[mappedKey{st.ID, st.TID}] += n })
		levels[i] = level
	}
	called := map[int32]string{}
	for _, t := range r.Source.Threads() {
		called[t.TID] = t.Name
	}
	for _, st := range rows {
		if st.TID != 0 {
			st.Thread = called[st.TID]
		}
		p.MappedStacks = append(p.MappedStacks, *st)
	}
	slices.SortFunc(p.MappedStacks, func(a, b report.Stack) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.TID, b.TID)) })
	p.MappedStacks = slices.DeleteFunc(p.MappedStacks, func(st report.Stack) bool {
		k := mappedKey{st.ID, st.TID}
		return st.Live == 0 && st.Peak == 0 && !slices.ContainsFunc(levels, func(l map[mappedKey]uint64) bool { return l[k] > 0 })
	})
	for i := range p.Snapshots {
		s := &p.Snapshots[i]
		for _, st := range p.MappedStacks {
			s.Mapped = append(s.Mapped, levels[i][mappedKey{st.ID, st.TID}])
		}
	}
}

// peakOf is the peak of a profile's blocks and, unless only blocks count, mappings: of those that were made behind
// event #from.
func (r *Recording) peakOf(from, to uint64, parts ProfileParts) (peak uint64) {
	x := r.Index
	switch {
	case from > 0:
		flows := heap.NewThreads(x.Source())
		if !parts.Blocks {
			flows.Besides = x.MappedSince(from, to)
		}
		flows.Follow(from, to, nil, nil)
		peak = flows.Highest().Seq
	case parts.Blocks:
		peak, _ = x.BlockPeakBefore(to)
	default:
		peak, _ = x.PeakBefore(to)
	}
	return peak
}
