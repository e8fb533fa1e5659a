// Package oracle asks gdb, so that tests can compare hdb with it.
package oracle

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/testprogs"
)

// Query says which calls of an allocator function gdb looks at. A call that
// comes from inside another allocator function (operator new, strdup,
// realloc(NULL) and so on) belongs to that one and is not counted.
type Query struct {
	Func    string // "malloc" when empty
	Arg     string // register with the size at the entry; "rdi" when empty
	MinSize uint64 // bytes
	Library string // end of the path of the file that defines Func; "/libc.so.6" when empty
	First   int    // the first call, from 1, whose stack is wanted; 0 for no stacks
	Last    int    // the last one
	Depth   int    // most frames per stack; 0 for all
}

// Result is what gdb saw from the start of the program to its end.
type Result struct {
	Count  int    `json:"count"`  // calls by the program that match the query
	Nested int    `json:"nested"` // those from inside other allocator functions
	Exit   int    `json:"exit"`   // exit status; -1 when a signal ended it
	Stops  []Stop `json:"stops"`
}

// Stop is the stack at the entry of one call.
type Stop struct {
	Nth    int     `json:"nth"` // 1-based among the calls counted
	Size   uint64  `json:"size"`
	Frames []Frame `json:"frames"` // innermost first, inlined frames included
}

// Frame is a line of gdb's bt.
type Frame struct {
	PC       uint64 `json:"pc"` // run-time address; a return address except in frame 0
	Function string `json:"function"`
	File     string `json:"file"` // whole path, as the debug info says; empty without
	Line     int    `json:"line"`
	Inlined  bool   `json:"inlined"`
	Signal   bool   `json:"signal"` // the frame that the kernel put under a handler
	Tail     bool   `json:"tail"`   // a function that left by a tail call: gdb deduces it, it is not on the stack
	Module   string `json:"module"` // path of the shared library; empty for the program
}

//go:embed gdb.py
var script []byte

// GDBStacks returns gdb's stacks at the entries of calls q.First to q.Last.
func GDBStacks(t testing.TB, c testprogs.Command, q Query) []Stop {
	t.Helper()
	return GDB(t, c, q).Stops
}

// GDB runs c under gdb with standard input, output and error on /dev/null,
// in c's own environment without any variable of gdb's. To see the same
// calls, run c with the same streams.
func GDB(t testing.TB, c testprogs.Command, q Query) Result {
	t.Helper()
	gdb := testprogs.Tool(t, "gdb")
	testprogs.Tool(t, "readelf")
	dir := t.TempDir()
	py, out := filepath.Join(dir, "gdb.py"), filepath.Join(dir, "out.json")
	if err := os.WriteFile(py, script, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	args := []string{"-nx", "-q", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"}
	for _, ex := range []string{
		"set exec-wrapper env -u PWD -u SHELL", "set disable-randomization on", "set confirm off", "set pagination off",
		"unset environment LINES", "unset environment COLUMNS",
		"set backtrace past-main on", "set print inferior-events off", "set print thread-events off",
		"handle all nostop noprint pass", "handle SIGTRAP SIGINT stop nopass",
		"python query = " + q.python(out),
	} {
		args = append(args, "-ex", ex)
	}
	args = append(append(args, "-x", py, "--args", c.Path), c.Args...)
	cmd := exec.CommandContext(ctx, gdb, args...)
	// gdb quotes arguments for a shell even when it starts without one, so
	// there is a shell, and the wrapper takes away the variables it adds.
	cmd.Env, cmd.Dir = append(c.Env[:len(c.Env):len(c.Env)], "SHELL=/bin/sh"), c.Dir
	// gdb's words go to a file: a pipe would be the program's streams too.
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	runErr := cmd.Run()
	data, err := os.ReadFile(out)
	if err != nil {
		words, _ := os.ReadFile(said.Name())
		t.Fatalf("gdb %q: %v\n%s", args, runErr, words)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("gdb's answer: %v", err)
	}
	for _, s := range r.Stops {
		for i := range s.Frames {
			if f := &s.Frames[i]; f.File != "" {
				f.File = filepath.Clean(f.File)
			}
		}
	}
	return r
}

// python is the query as a Python literal, with defaults filled in.
func (q Query) python(out string) string {
	pick := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	last := q.Last
	if q.First == 0 {
		last = -1
	}
	return fmt.Sprintf(`{"func": %q, "arg": %q, "min": %d, "library": %q, "first": %d, "last": %d, "depth": %d, "out": %q}`,
		pick(q.Func, "malloc"), pick(q.Arg, "rdi"), q.MinSize, pick(q.Library, "/libc.so.6"), q.First, last, q.Depth, out)
}
