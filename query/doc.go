// Package query answers questions to a recording, of a process that runs or of a capture:
// which events there were, which blocks are live, which function they belong to, and how
// that changed. It knows no process and no session; it reads a capture.Source, the index of
// its heap and the names of its code.
package query
