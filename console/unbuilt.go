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
	{"output", "print shows values; there are no formats of your own"},
	{"hbreak, thbreak", "hardware breakpoints on code are not built: break stops there, watch stops at data"},
	{"heap", "live lists the blocks that were not given back, top the functions that made them, leaks the stacks; whence tells about an address"},
	{"event, events", "allocs lists recorded events, bt #N shows the stack of one, list #N its source; goto #N selects one of a capture"},
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
