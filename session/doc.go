// Package session is one debugging session without a terminal: the verbs behind
// the console's commands, on a live process, a core file and a saved capture.
//
// It owns the process under the debugger, the modules and their symbols, the
// numbered stops, what follows allocator calls and the recording of them, and it
// never prints: verbs return values, what happens on the way goes to Config.Notify.
//
// # Packages below
//
// What only reads, and what runs the program through an interface, has packages of its own. Each imports only those before it:
//
//	target      the process, core file or capture, with its names, clock and settings; stacks
//	codeflow    where instructions begin
//	view        the selected thread, frame, goroutine and moment; addresses and places as typed
//	variables   variables and expressions of the frame in view
//	recordings  the recording that can be asked, questions to it, captures
//	cpython     what threads do in Python and Cython, objects and heaps of Python
//	heaps       what memory holds, and who points to whom
//	stopped     the report of a stop, with its causes
//	stepping    steps by lines, calls and instructions of C, Go and Cython
//	pystops     stops at lines and functions of Python, and steps between them
//	allocators  the catalogue's functions and the user's
//	pystacks    the calls of Python in the stacks of events
//
// A package states what it needs from the code that runs the program as an interface or a
// function field; this package supplies them.
//
// # Parts
//
// A Session loads, starts and ends the program, follows its modules, forks and execs, and owns the parts that do
// everything else. A part has the verbs of one matter, as s.Stops.Break and s.Queries.Top. Each has the target, or the
// account of its calls; in addition a part has only the parts that it asks. These are most of those of this package, in
// an order in which each asks those before it:
//
//	likes       events of captures that conditions name
//	demand      the numbered stops, and next-alloc: what wants events, and was met
//	Planes      the probe or plain breakpoints that follow them, as the demand is
//	Conditions  what is wrong or in doubt with a condition
//	Stops       setting the numbered stops, planting and lifting their traps
//	Traces      the stops that describe calls and returns
//	Recorder    starting and ending a recording, and the file that it goes to
//	Catches, Execution
//	            running until something stops, and reporting that
//	Cores       opening core files, and writing them of the process
//	Travel      moments of the recording
//	Symbols     the files that names come from
//
// Where a part has to tell one that comes after it, it is given a function, among them
// Selection.Source, demand.traps and calls, Planes.failed, Allocators.Follow, Stops.traced and traceExits,
// Recorder.status, Execution.ended, Values.World.Call. Execution is given two parts that
// come after it, Python and Mallocs, for what a report tells.
//
// # Goroutines and locks
//
// A Session with all its parts belongs to one goroutine, that which calls Run, Start
// or Attach: ptrace ties a process to one OS thread, to which that goroutine is
// locked. Handlers of traps and the hooks of the process are called on it, within
// Continue and the steps. Any goroutine may call Interrupt, Alongside, Going and ConsoleLog.Add.
// What Alongside runs is on the owner, within Continue, between two events of the process:
// Target.Alongside is set meanwhile, verbs that need a stopped process refuse, and questions to
// the recording are answered as of the last event that its index has.
//
// Other goroutines reach in:
//
//   - The one that drains the ring of the probe calls the recording.Recording, and
//     through it recordedProcess, holding the probe's lock and behind it the lock of the
//     Recording; what it asks takes neither. It reads the names, the attribution and the
//     likes, which have locks of their own, and Target.Probe, which is set before the
//     first event and forgotten after the last one. A panic there is passed to
//     probeSink.Failed.
//     It counts the hits of stops that print records (stops_records.go), and prints their
//     texts by Config.Print, which must not ask the session.
//   - The one that writes a file within bounds calls Recorder.endFull, or Stream.Full.
//   - stream.run has a stream written out once a second.
//   - Downloads of debug files call Config.Fetched, or Config.Notify without it.
//
// The first three leave what there is to do to the owner, whom they wake by
// Target.Current: that is atomic, as Recorder.failure is.
//
// Target.Exclusive is for the owner to change what the ring's goroutine reads, and to look at the
// recording between two events: it drains the ring, and runs a function under the probe's lock. It
// must not be nested, and the function must be short: a program whose ring is full waits for it.
// Changes of the modules, of what names are found by, and of the attribution are made in it.
// Target.StopAll is for changes of traps and jumps: all threads are stopped meanwhile, and their
// events have been taken. Thus the order is: threads stopped, the probe's lock, the lock of the
// Recording, those of names.
package session
