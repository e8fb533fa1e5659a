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
	{"info os", "use the shell: shell ps, shell ipcs"},
	{"macro define, macro undef, macro list, macro expand-once", "set convenience variables instead, as in set $N = 3; macro expand expands the program's macros"},
	{"checkpoint, info checkpoints", "hdb has no checkpoints; goto and reverse-continue move back in a recording"},
	{"rewind, rw", "reverse-continue, prev-alloc and goto move back in a recording, like delve's rewind; rwatch watches for reads"},
	{"reverse-step, reverse-next, reverse-stepi, reverse-finish", "only allocations are recorded, not instructions: prev-alloc, prev-free, reverse-continue and goto move between them"},
	{"queue-signal", "signal continues with a signal at once"},
	{"compare-sections", "info sharedlibrary shows files that differ from what is mapped"},
	{"compile", "hdb does not compile code into the program; use call for functions that the program already has"},
	{"symbol-file, add-symbol-file", "hdb loads symbols by itself, from the modules and from debug files with their build ID: info symbols shows what is missing, docs/symbols.md says where hdb searches"},
	{"edit", "use shell $EDITOR FILE"},
	{"explore", "use print and ptype; dots and brackets lead to members and elements"},
	{"python, guile", "hdb has no built-in scripting language; with --json it prints every answer as an object for other programs"},
	{"event, events", "allocs lists recorded events, bt #N shows the stack of one, list #N its source; goto #N selects one"},
	{"py-bt, py-bt-full, py-list, py-up, py-down, py-locals, py-print, pybt", "write it with a space: py bt, py list, py up, py down, py locals, py print"},
	{"gc", "hdb does not make a program collect its garbage: leaks shows which blocks of Go are reachable at this stop and which are garbage; to collect, the program itself calls runtime.GC(), or you ask net/http/pprof for /debug/pprof/heap?gc=1"},
	{"layout, winheight", "hdb has one layout, the source above the console: tui enable"},
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
