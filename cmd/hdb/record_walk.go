package main

import (
	"context"

	"hdb/report"
	"hdb/session"
	"hdb/session/stopped"
)

// goOn has the program continue until something stops it. Where its leaks are asked for, and no allocator function of
// it is known, it first stops before its end, where a walk of the heap tells what is lost.
func (r *recorder) goOn() (*stopped.Report, error) {
	if !r.o.walks || r.lost != nil || !r.s.Planes.NoAllocatorKnown() {
		return r.s.Execution.Continue(1)
	}
	rep, how, err := r.s.ToExit(false)
	if err != nil || how != session.LeavingAtExit && how != session.LeavingDies {
		return rep, err
	}
	r.lost = &report.Numbers{}
	if lost, err := r.s.Heap.Lost(context.Background()); err == nil { // else nothing is known
		r.lost.Live, r.lost.LiveBlocks = lost.Bytes, uint64(lost.Blocks)
	}
	return rep, nil
}
