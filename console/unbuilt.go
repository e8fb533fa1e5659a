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
	{"layout, winheight, info win, context", "hdb has one layout, the source above the console: tui enable"},
	{"tcache, tcachebins, fastbins, fastbin, unsortedbin, smallbins, largebins, heap bins", "bins lists malloc's free chunks by list, tcaches included"},
	{"malloc_chunk, try_free, top_chunk, heap chunk", "chunk ADDRESS shows a chunk of malloc, its neighbours and what is wrong with it"},
	{"vis_heap_chunks, vis, heapinfo, arenainfo, mp, heap chunks, heap arenas", "heap, arenas and fragmentation show what malloc keeps; live lists blocks"},
	{"telescope, dereference, hexdump, examinemem", "x/16gx ADDRESS shows memory, what ADDRESS says what an address is"},
	{"p2p, leakfind, who_points_at, block_list", "refs ADDRESS shows who points to a block, why ADDRESS the way from a variable to it"},
	{"leak_check, ::findleaks, !leaks, !address, leakcheck", "leaks searches memory for blocks that nothing points to; live lists all blocks"},
	{"xinfo, ::whatis, malloc_history, !heap", "what ADDRESS says what an address is, whence ADDRESS where its block was allocated"},
	{"track-heap, malloc_info, heapcheck", "record start records each allocation; stats, top, leaks and live answer from it"},
	{"snapshot", "mark NAME names a moment: leaks since NAME and diff NAME show what has changed since; gcore FILE writes a core file"},
	{"layers", "vmmap -layers shows who owns the resident memory"},
	{"doctor", "info symbols shows which names are missing; hdb doctor PROGRAM, on the command line, how to get them"},
	{"valgrind, memray, massif, heaptrack", "record start records allocations; leaks, top, tree and timeline show them, export writes massif's and other formats"},
	{"vars, packages", "info variables [REGEXP] lists variables, info functions [REGEXP] functions; info locals and info args those of the frame"},
	{"types", "info types [REGEXP] lists types, ptype NAME shows one"},
	{"rebuild", "use shell make, then restart, which loads the new program"},
	{"check, checkpoints, clear-checkpoint", "hdb has no checkpoints; mark NAME names a moment of the recording, to which goto moves back"},
	{"transcript", "pipe COMMAND | tee FILE keeps the output of a command, set logging on that of the session"},
	{"up-silently, down-silently", "use frame N"},
	{"tty", "set tty DEVICE"},
	{"sharedlibrary, info target, info exceptions", "hdb loads all symbols by itself; info sharedlibrary lists the modules, info program what runs, catch throw stops at exceptions"},
	{"maintenance", "info symbols and vmmap show what hdb knows of modules and memory"},
	{"info terminal", "the program has hdb's own terminal, or that of set tty"},
	{"set disassembly-flavor", "hdb prints AT&T's syntax, gdb's default"},
	{"set print address, set print thread-events, set print entry-values", "hdb has no such setting: see show print"},
	{"set non-stop", "all threads stop together; scheduler-locking and command & leave the others running"},
	{"set history filename", "the history is in $XDG_STATE_HOME/hdb/history; HDB_HISTFILE names another"},
	{"set breakpoint", "a place that is not known yet is pending, without a question"},
	{"set language", "the language is that of the frame"},
	{"set trace-commands", "hdb --echo prints each command of standard input before its output"},
	{"set auto-load", "hdb reads a .hdb file only in directories that trust has named"},
	{"set startup-with-shell", "hdb starts programs itself, without a shell"},
	{"set max-value-size", "values have no such limit; set print elements limits what is shown"},
	{"set record, show record", "record start --max-size and --ring limit a recording"},
	{"set alias", "alias NAME = COMMAND makes a name of your own"},
	{"set max-string-len, set max-array-values", "set print elements limits strings and arrays"},
	{"set max-variable-recurse", "set print max-depth limits it"},
	{"set user, set commands", "help NAME shows a command of your own, history the typed lines"},
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
