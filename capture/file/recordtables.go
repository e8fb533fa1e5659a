package file

import (
	"slices"
	"sync"

	"hdb/capture"
)

// recordTables are what a recording keeps in addition to events and stacks, and what the chunks of
// records of a file hold. Those of a File are not changed once it is open.
type recordTables struct {
	mu        sync.RWMutex // held for short steps only; a Log guards its other fields by it, too
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
	if t.threadAt == nil {
		t.threadAt = map[int]int{}
	}
	t.threadAt[th.Num] = len(t.threads)
	t.threads = append(t.threads, th)
}

// readTable is a table as it is now. What is appended later does not show.
func readTable[T any](t *recordTables, table *[]T) []T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clip(*table)
}

// Info describes the session. Its Totals are the last that were written: with
// Damage, the file may hold more or fewer events.
func (t *recordTables) Info() capture.Info { return t.info }

// Functions are the allocator functions that Event.Func counts through.
func (t *recordTables) Functions() []string { return readTable(t, &t.functions) }

// Modules are all modules that are or were mapped. One that was lost is empty.
func (t *recordTables) Modules() []capture.Module { return readTable(t, &t.modules) }

// Threads are all threads that are or were running.
func (t *recordTables) Threads() []capture.Thread { return readTable(t, &t.threads) }

// Stops are the recorded stops, in order.
func (t *recordTables) Stops() []capture.StopRecord { return readTable(t, &t.stops) }

// Losses are the places where calls are missing, in order.
func (t *recordTables) Losses() []capture.Loss {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.losses) // the last one may grow
}

// Marks are the moments that were named.
func (t *recordTables) Marks() []capture.MarkRecord { return readTable(t, &t.marks) }

// Samples are the resident memory over time.
func (t *recordTables) Samples() []capture.SampleRecord { return readTable(t, &t.samples) }

// Execs are the numbers of the first events after each replacement of the program.
func (t *recordTables) Execs() []uint64 { return readTable(t, &t.execs) }

// Console is what was typed and printed while the recording was made, in order.
func (t *recordTables) Console() []capture.ConsoleLine { return readTable(t, &t.console) }
