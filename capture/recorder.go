package capture

import "hdb/internal/addr"

// A Recorder is what a recording is made with: a *Log in memory or a *Writer to
// a file. Its methods belong to one goroutine.
type Recorder interface {
	AddEvent(*Event) (seq uint64)
	// AddEvents adds events, of which there must be at least one and whose numbers should
	// rise, as AddEvent would one after the other, and returns the number of the last.
	AddEvents([]Event) (seq uint64)
	// Replaced notes that the program was replaced (exec): no block lives on.
	Replaced()
	// Intern is the ID of a stack; equal stacks of the same modules have one ID.
	Intern(Stack) StackID
	// Occupy tells which module has the addresses [low, high) from here on, where another one was:
	// the numbers are the caller's, 0 for modules that took no other one's place.
	Occupy(low, high addr.Run, module uint32)
	// Keep keeps the function chain of a return address for which no file has it.
	Keep(addr.Run, []Frame)
	FuncIndex(name string) uint16
	AddModule(Module) (index int)
	EndModule(index int, to uint64)
	// SetGoTypes has the types of Go known that a module has.
	SetGoTypes(module int, types GoTypes)
	AddThread(Thread)
	AddStop(StopRecord)
	AddMark(MarkRecord)
	AddSample(SampleRecord)
	AddLoss(Loss)
	SetInfo(Info)
}
