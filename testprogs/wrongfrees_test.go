package testprogs

import (
	"regexp"
	"strings"
	"testing"
)

// wrongFrees are the cases of wrongfrees.c and mismatch.cc, with what hdb says of each; "" of those
// in which nothing is wrong.
var wrongFrees = []struct{ program, what, want string }{
	{"wrongfrees", "fine", ""},
	{"wrongfrees", "double", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "large", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "aligned", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "realloc", "double free: realloc(P, 80): the block was freed before, by #N free(P)"},
	{"wrongfrees", "reallocarray", "double free: reallocarray(P, 8, 10): the block was freed before, by #N free(P)"},
	{"wrongfrees", "moved", "double free: #N free(P): the block was freed before, by #N realloc(P, 4000) = P"},
	{"wrongfrees", "inside", "invalid free: #N free(P): P is 16 bytes inside the block of 64 bytes of #N malloc(64) = P"},
	{"wrongfrees", "odd", "invalid free: #N free(P): P is 1 byte inside the block of 64 bytes of #N malloc(64) = P"},
	{"wrongfrees", "resize-inside", "invalid free: realloc(P, 100): P is 16 bytes inside the block of 64 bytes of #N malloc(64) = P"},
	{"wrongfrees", "stack", "invalid free: #N free(P): the address is on the stack of thread 1"},
	{"wrongfrees", "global", "invalid free: #N free(P): the address is in wrongfrees, not on the heap"},
	{"wrongfrees", "atexit", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "signal", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "thread", "double free: #N free(P): the block was freed before, by #N free(P)"},
	{"wrongfrees", "fork", ""}, // in a child that runs free
	{"wrongfrees", "reused", ""},
	{"mismatch", "fine", ""},
	{"mismatch", "array-delete", "mismatched free: #N operator delete(P, 32): the block was allocated by #N operator new[](96) = P, and must be freed by operator delete[]"},
	{"mismatch", "new-delete[]", "mismatched free: #N operator delete[](P): the block was allocated by #N operator new(32) = P, and must be freed by operator delete"},
	{"mismatch", "new-free", "mismatched free: #N free(P): the block was allocated by #N operator new(32) = P, and must be freed by operator delete"},
	{"mismatch", "malloc-delete", "mismatched free: #N operator delete(P, 32): the block was allocated by #N malloc(32) = P, and must be freed by free"},
	{"mismatch", "new-realloc", "mismatched free: realloc(P, 100): the block was allocated by #N operator new(32) = P, and must be freed by operator delete"},
	{"mismatch", "sized-twice", "double free: #N operator delete(P, 32): the block was freed before, by #N operator delete(P)"},
	{"headernew", "", ""},
}

var addresses = regexp.MustCompile(`\b0x[0-9a-f]+\b`)

// wrongLine finds the line of a verdict, with placeholders for numbers of events and addresses.
func wrongLine(out string) string {
	for line := range strings.Lines(out) {
		kind, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !strings.HasSuffix(kind, " free") {
			continue
		}
		if _, after, ok := strings.Cut(rest, ": "); ok && strings.HasPrefix(rest, "thread ") {
			rest = after
		}
		words := strings.FieldsFunc(kind+": "+rest, func(r rune) bool { return r == ' ' })
		for i, w := range words {
			if strings.HasPrefix(w, "#") {
				words[i] = "#N"
			}
		}
		return addresses.ReplaceAllString(strings.Join(words, " "), "P")
	}
	return ""
}

// TestWrongFrees has each case told once, and nothing of those in which nothing is wrong: by both
// planes, in processes that were launched and those that were attached to.
func TestWrongFrees(t *testing.T) {
	planes := []string{"auto", "off"}
	for i, c := range wrongFrees {
		for j, plane := range planes {
			if (i+j)%Stride(2) != 0 {
				continue
			}
			t.Run(c.program+" "+c.what+" probe "+plane, func(t *testing.T) {
				t.Parallel()
				out := hdbSays(t, "-ex", "set probe "+plane, "-ex", "set print sizes raw", "-ex", "set wrong-frees report",
					"-ex", "handle SIGUSR1 nostop noprint pass", "-ex", "record start", "-ex", "run", "-ex", "kill",
					"--args", Build(t, c.program), c.what)
				if got := wrongLine(out); got != c.want {
					t.Errorf("said %q, want %q\n%s", got, c.want, out)
				}
			})
		}
	}
}
