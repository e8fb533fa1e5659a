package file

import (
	"math"

	"hdb/capture"
)

// A tableWriter writes what a recording keeps in addition to events and stacks, as records.
type tableWriter struct {
	out       *chunkWriter
	pending   [chunkTypes + 1]recordWriter // by kind of chunk
	functions map[string]uint16            // indexes by name
	funcs     int                          // functions there are
	modules   []capture.Module
	types     typeWriter
}

// FuncIndex is the index of a function, as of Log.FuncIndex.
func (w *tableWriter) FuncIndex(name string) uint16 {
	i, ok := w.functions[name]
	switch {
	case ok:
	case w.funcs > math.MaxUint16:
		i = math.MaxUint16
	default:
		i = uint16(w.funcs)
		w.AddFunctions([]string{name})
	}
	return i
}

// AddFunctions adds functions under the next indexes; of equal names FuncIndex finds the
// first.
func (w *tableWriter) AddFunctions(names []string) {
	for _, name := range names {
		if _, ok := w.functions[name]; !ok {
			w.functions[name] = uint16(w.funcs)
		}
		w.types.function(w.funcs, name)
		w.records(chunkFunctions).function(w.funcs, name)
		w.funcs++
	}
}

// AddModule appends a module and returns its index in Modules.
func (w *tableWriter) AddModule(m capture.Module) int {
	i := len(w.modules)
	w.modules = append(w.modules, m)
	w.types.refs.changed()
	w.records(chunkModules).module(i, m)
	return i
}

// EndModule notes that module i was unmapped before event to.
func (w *tableWriter) EndModule(i int, to uint64) { w.Remap(i, w.modules[i].From, to) }

// SetGoTypes has the types of Go known that module i has: those that events have are written
// with the events. Those that earlier events have there are written at once: an event that has the same
// as the last one of its stack is not noted.
func (w *tableWriter) SetGoTypes(i int, types capture.GoTypes) {
	w.types.set(i, types)
	w.types.refs.changed()
	w.keepNoted(i, &w.modules[i], func(ref typeRef) (capture.GoType, bool) { return w.knownType(ref, i) })
}

// Module is the module with an index in Modules.
func (w *tableWriter) Module(i int) capture.Module { return w.modules[i] }

// Remap notes for the events of which numbers module i was mapped.
func (w *tableWriter) Remap(i int, from, to uint64) {
	w.modules[i].From, w.modules[i].To = from, to
	w.types.refs.changed()
	w.records(chunkModules).module(i, w.modules[i])
}

// AddThread adds a thread, or replaces the one with the same Num.
func (w *tableWriter) AddThread(t capture.Thread) { w.records(chunkThreads).thread(t) }

// AddStop appends the record of a stop.
func (w *tableWriter) AddStop(s capture.StopRecord) { w.records(chunkStops).stop(s) }

// AddMark names a moment.
func (w *tableWriter) AddMark(m capture.MarkRecord) { w.records(chunkMarks).mark(m) }

// AddSample notes how much memory is resident.
func (w *tableWriter) AddSample(s capture.SampleRecord) { w.records(chunkSamples).sample(s) }

// AddConsole appends a line of the console.
func (w *tableWriter) AddConsole(l capture.ConsoleLine) { w.records(chunkConsole).consoleLine(l) }

// records is where records of the kind are collected.
func (w *tableWriter) records(kind chunkKind) *recordWriter {
	if w.pending[kind].full() {
		w.flushRecords(kind)
	}
	return &w.pending[kind]
}

// flushRecords has the records of the kind written that are not yet.
func (w *tableWriter) flushRecords(kind chunkKind) {
	records := w.pending[kind]
	if len(records.records) == 0 {
		return
	}
	w.pending[kind] = recordWriter{}
	w.out.queue.add(func() { w.out.records(kind, &records) })
}
