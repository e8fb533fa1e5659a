// Package python reads the frames of CPython interpreters in the memory of a process: which
// function of Python each thread is in, in which file and line, and who called it.
//
// Nothing runs in the process and no debug information is needed: the interpreter's state is
// found by symbols that every build exports, and what lies where in its structures is known
// by version (package layout). Versions 3.8 to 3.13 are, with the global interpreter lock; others
// are named and refused.
//
// All that is read may be torn or hostile, as in a process that was stopped in the middle of a
// change: chains, texts and tables are bounded, and what does not hold together is an error of the
// frame that it belongs to.
//
// The sources are CPython's own: Include/internal/pycore_runtime.h, pycore_interp.h,
// pycore_frame.h, cpython/code.h and frameobject.h of each version, and
// Objects/lnotab_notes.txt and locations.md for the tables of lines.
package python
