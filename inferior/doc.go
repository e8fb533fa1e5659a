// Package inferior runs and controls the programs being debugged: an engine on
// ptrace(2) with PTRACE_SEIZE that launches or attaches, stops and resumes all
// threads, plants traps, and reads and writes registers and memory.
//
// In a nutshell it works as follows. The kernel ties a tracee to the thread
// that traces it, so the goroutine that calls Launch or Attach is locked to
// its OS thread and owns the Process: it alone may call its methods. Three
// are free for any goroutine: Interrupt, Wake and ReadAt. Nothing happens
// behind the owner's back: wait4(2) is called only inside Continue,
// StepInstruction and the few methods that stop threads, and handlers and hooks
// run there too, on the owner. Because a wait for any tracee of a thread would also reap other
// children of that thread, start other commands from another goroutine.
//
// Between calls all threads are stopped. During Continue they all run; a
// thread that hits a trap stops alone, the trap's handlers see its registers
// and memory, and it goes on by emulating the instruction under the trap, so
// that the others never notice. Only when a handler says StopHere, or an
// instruction cannot be emulated, are the other threads stopped.
//
// A Process is one debugging target that can change its process: a fork may
// be followed, exec replaces the image, SwitchTo changes to a held child.
//
// What depends on the architecture lies in files named _x86.go.
package inferior
