// Package lines tells which instructions of CPython's bytecode begin a line, as the
// interpreter's own tracing (sys.settrace) has it: where a debugger has to stop.
//
// It is given the bytes of a code object and knows no memory. Versions 3.8 to 3.13 are known. An offset
// is in bytes from the first instruction. The sources are maybe_call_line_trace of
// Python/ceval.c up to 3.11, Python/instrumentation.c and legacy_tracing.c from 3.12 on, and for the tables
// Objects/lnotab_notes.txt, Objects/locations.md and exception_handling_notes.txt.
package lines
