package file

import (
	"slices"

	"hdb/capture"
)

// recordTables are what the chunks of records of a file hold. They are not changed
// once the file is open.
type recordTables struct {
	info      capture.Info
	functions []string
	modules   []capture.Module
	threads   []capture.Thread
	threadAt  map[int]int // number -> index into threads
	stops     []capture.StopRecord
	losses    []capture.Loss
	marks     []capture.MarkRecord
	samples   []capture.SampleRecord
	console   []capture.ConsoleLine
	execs     []uint64 // ascending
}

// record adds a record to its table, unless it is invalid.
func (t *recordTables) record(kind chunkKind, r *recordReader) {
	switch kind {
	case chunkInfo:
		if info := r.info(); r.record.err == nil {
			t.info = info
		}
	case chunkFunctions:
		if i, name := r.function(); r.record.err == nil {
			t.functions = put(r, t.functions, i, name)
		}
	case chunkModules:
		if i, m := r.module(); r.record.err == nil {
			t.modules = put(r, t.modules, i, m)
		}
	case chunkThreads:
		if th := r.thread(); r.record.err == nil {
			t.putThread(th)
		}
	case chunkStops:
		if s := r.stop(); r.record.err == nil {
			t.stops = append(t.stops, s)
		}
	case chunkLosses:
		if l := r.loss(); r.record.err == nil {
			t.losses = addLoss(t.losses, l)
		}
	case chunkMarks:
		if m := r.mark(); r.record.err == nil {
			t.marks = append(t.marks, m)
		}
	case chunkSamples:
		if s := r.sample(); r.record.err == nil {
			t.samples = append(t.samples, s)
		}
	case chunkConsole:
		if l := r.consoleLine(); r.record.err == nil {
			t.console = append(t.console, l)
		}
	case chunkExecs:
		if first := r.exec(); r.record.err == nil {
			t.execs = append(t.execs, first)
		}
	}
}

// put sets table[i]. Entries that were lost are left zero.
func put[T any](r *recordReader, table []T, i int, v T) []T {
	const most = 4096 // lost ones in a row
	if i > len(table)+most {
		r.fail("entry %d follows entry %d", i, len(table)-1)
		return table
	}
	if i >= len(table) {
		table = append(table, make([]T, i+1-len(table))...)
	}
	table[i] = v
	return table
}

// putThread adds th or replaces the thread with its number.
func (t *recordTables) putThread(th capture.Thread) {
	if i, ok := t.threadAt[th.Num]; ok {
		t.threads[i] = th
		return
	}
	t.threadAt[th.Num] = len(t.threads)
	t.threads = append(t.threads, th)
}

// Info describes the session. Its Totals are the last that were written: with
// Damage, the file may hold more or fewer events.
func (t *recordTables) Info() capture.Info { return t.info }

// Functions are the allocator functions that Event.Func counts through.
func (t *recordTables) Functions() []string { return slices.Clip(t.functions) }

// Modules are all modules that were mapped. One that was lost is empty.
func (t *recordTables) Modules() []capture.Module { return slices.Clip(t.modules) }

// Threads are all threads that were running.
func (t *recordTables) Threads() []capture.Thread { return slices.Clip(t.threads) }

// Stops are the recorded stops, in order.
func (t *recordTables) Stops() []capture.StopRecord { return slices.Clip(t.stops) }

// Losses are the places where calls are missing, in order.
func (t *recordTables) Losses() []capture.Loss { return slices.Clone(t.losses) }

// Marks are the moments that were named.
func (t *recordTables) Marks() []capture.MarkRecord { return slices.Clip(t.marks) }

// Samples are the resident memory over time.
func (t *recordTables) Samples() []capture.SampleRecord { return slices.Clip(t.samples) }

// Execs are the numbers of the first events after each replacement of the program.
func (t *recordTables) Execs() []uint64 { return slices.Clip(t.execs) }

// Console is what was typed and printed while the recording was made, in order.
func (t *recordTables) Console() []capture.ConsoleLine { return slices.Clip(t.console) }
