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
// Between calls all threads are stopped. During Continue they all run, one after the other if
// memory is watched by single steps (watchstep.go); a thread that hits a trap stops alone, the
// trap's handlers see its registers and memory, and it continues by emulating the instruction under
// the trap, so that the others never notice. Only when a handler says StopHere, or an instruction
// cannot be emulated, are the other threads stopped.
//
// A Process is one debugging target that can change its process: a fork may
// be followed, exec replaces the image, SwitchTo changes to a held child.
//
// A Process runs the event loop: it waits, takes what the kernel reports, stops and
// resumes threads. The rest of the state belongs to its parts, one type each:
//
//	target       the threads, how the process ended
//	memory       the address space, int3s and patches that readers do not see
//	traps        where threads stop, their handlers, passing them, screens in front of them
//	patches      replaced code, and the copies of what it replaced
//	modules      the ELF files mapped, the dynamic linker's hook, room for a stub
//	watchpoints  the debug registers, and turns of single steps where they do not suffice
//	family       forks and execs: children held, guests in the target's memory
//	snapshots    copies of the memory, which stay as they are while the target runs
//	systemCalls  those that the hook sees
//	policies     what becomes of signals
//	waker        Interrupt and Wake
//	terminal     who has the foreground
//	guard        the process that restores the code when hdb is killed
//	trapHandler  the inferior's handler of SIGTRAP until it has
//
// A part changes its own state alone and reaches the others by their methods, through
// the Process. All of them belong to the owner. Two have a lock for what other
// goroutines do: memory.mu lets them read (ReadAt), waker.mu lets them call (Wake). No
// handler, hook or other part is called with one of them held.
//
// OpenCore makes a Process of a core file (package corefile): its threads stay stopped, with
// registers that the file has, and memory reads the file. It has the methods that read; all others
// are a *CoreError, which Process.Alive decides.
//
// Most code for one architecture is in files named _x86.go; patch.go, pass.go and
// reach.go know its jumps, too.
package inferior
