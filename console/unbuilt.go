package console

import (
	"fmt"
	"slices"
	"strings"
)

// unbuilt are words of gdb, delve and heap profilers that hdb does not have yet, or has
// by another name. It says so instead of taking them for the beginning of another word. A user's own
// definition or alias goes before them.
var unbuilt = []struct{ words, why string }{
	{"info vector, info float", "info registers vector and info registers float show them"},
	{"info os", "the shell has it: shell ps, shell ipcs"},
	{"macro define, macro undef, macro list, macro expand-once", "set convenience variables instead: set $N = 3; macro expand shows what the program's macros are"},
	{"checkpoint, info checkpoints", "not built: a recording is the past that can be gone back to, by goto and reverse-continue"},
	{"rewind, rw", "reverse-continue, prev-alloc and goto go back in a recording, as delve's rewind does; rwatch watches for reads"},
	{"reverse-step, reverse-next, reverse-stepi, reverse-finish", "only allocations are recorded, not instructions: prev-alloc, prev-free, reverse-continue and goto move between them"},
	{"queue-signal", "signal goes on with one at once"},
	{"compare-sections", "info sharedlibrary says when a file is not the one that is mapped"},
	{"compile", "call calls functions that the program has; code is not compiled into it"},
	{"symbol-file, add-symbol-file", "symbols come with the modules, and from debug files by build ID: info symbols says what is missing, docs/symbols.md where it is looked for"},
	{"edit", "shell $EDITOR FILE"},
	{"explore", "print and ptype: names with dots and brackets lead on"},
	{"python, guile", "there is no language inside: --json prints every answer as an object for scripts outside"},
	{"event, events", "allocs lists recorded events, bt #N shows the stack of one, list #N its source; goto #N selects one"},
	{"py-bt, py-bt-full, py-list, py-up, py-down, py-locals, py-print, pybt", "with a space here: py bt, py list, py up, py down, py locals, py print"},
	{"gc", "a program is not made to collect: leaks tells what of Go's heap is reachable at this stop, and what is garbage; a collection is the program's own, by runtime.GC() or /debug/pprof/heap?gc=1 of net/http/pprof"},
	{"layout, winheight", "there is one layout, the source above the console: tui enable"},
}

// notBuilt is the error for a word that hdb does not have yet, or nil. full is
// all of the words, as in "info locals".
func notBuilt(full string) error {
	for _, u := range unbuilt {
		if slices.Contains(strings.Split(u.words, ", "), full) {
			return fmt.Errorf("%s: %s", full, u.why)
		}
	}
	return nil
}
