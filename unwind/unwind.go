// Package unwind finds the frames of a stack: it reads call frame information
// (CFI) into rows and walks them over registers and an io.ReaderAt.
//
// In a nutshell: a [Table] holds the .eh_frame or .debug_frame of one module. For a file address it
// yields a [Row]: where the canonical frame address (CFA) is and where each register of the caller
// was saved. A [Walker] starts at a thread's registers, asks [Modules] for the table at the PC,
// applies the row, and continues with the caller's registers, until a row says that there is no
// caller. Where CFI is missing it may guess; frames found so carry a [How] whose Guess is true, and
// a stack that could not be followed to its end says why.
//
// The package knows no process: live memory, a core file and a test's buffer are
// all an io.ReaderAt whose offsets are run addresses. Bytes of files and of the
// inferior are not trusted: any of them give an error, a missing row or a truncated
// stack after bounded work, never a panic.
//
// A Table may be used by any number of goroutines; one mutex guards its index and
// its cache of rows. A Walker belongs to one goroutine at a time, and the frames it
// returns are its own until the next Walk.
package unwind

import "hdb/internal/addr"

// Modules finds the module at an address of the inferior.
type Modules interface {
	// ModuleAt is the module whose mapped code contains pc: its table and its load
	// bias. The table is nil for a module without CFI; ok is false where no module is.
	ModuleAt(pc addr.Run) (t *Table, bias addr.Bias, ok bool)
}

// How says how a frame was found, that is, how its callee was unwound.
type How uint8

// The ways in which a frame is found.
const (
	Entry        How = iota // frame 0: the registers that the walk began with
	CFI                     // a row of .eh_frame or .debug_frame
	Sigcontext              // the kernel's signal frame, its trampoline known by its instructions
	PLT                     // the callee is a PLT entry without CFI, its state known by its instructions
	FramePointer            // a guess: rbp was taken for a frame pointer
	Leaf                    // a guess: the callee was taken to be at its entry or its return
)

var howNames = [...]string{"registers", "CFI", "signal context", "PLT entry", "frame pointer", "leaf"}

// String is a short name.
func (h How) String() string {
	if int(h) < len(howNames) {
		return howNames[h]
	}
	return "unknown"
}

// Guess reports whether the frame may be wrong, because no CFI describes its callee.
func (h How) Guess() bool { return h == FramePointer || h == Leaf }

// A Frame is one activation of a function; inlined functions have none of their own.
type Frame struct {
	// PC is where the frame executes: a return address, but a PC in frame 0 and in
	// a frame that a signal interrupted.
	PC addr.Code
	// CFA is the canonical frame address: the caller's stack pointer, just above
	// the return address. 0 when the stack is truncated at this frame.
	CFA addr.Run
	// Regs are the registers as this frame's function sees them, as far as known.
	Regs Regs
	// How the frame was found. A guess makes the frames above it doubtful too.
	How How
	// Signal marks the trampoline that the kernel has a signal handler return to
	// (gdb's <signal handler called>). Its caller is the interrupted frame.
	Signal bool
	// Made marks the go statement that made the goroutine: it is behind the first function of the
	// goroutine, which it has not called. It has neither registers nor a CFA.
	Made bool
}

// A Stack is the result of a walk.
type Stack struct {
	Frames []Frame // innermost first; valid until the walker's next Walk
	// Truncated is why the walk ended early, in words to show. It is empty when
	// the walk reached the first function of the thread.
	Truncated string
}
