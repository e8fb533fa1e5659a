// Package target is what a session is about: the process, core file or capture with its names, memory, clock and
// settings, the stacks of its threads, its Go runtime, and the account of its allocator calls.
//
// Target.Image is the process that is read: its threads, registers and memory. Target.Proc is the one that runs, nil
// without. While a process is under the debugger they are the same; of a core file there is an image alone. So what reads
// asks Readable and Image, what runs or changes asks Live and Proc, and Live is where a core refuses.
package target
