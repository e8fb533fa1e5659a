package session

import (
	"os"
	"path/filepath"
	"strings"

	"hdb/inferior"
	"hdb/names"
)

// A leakChecker is a runtime that runs LeakSanitizer at the program's exit.
type leakChecker struct {
	library string // in the name of its library
	symbol  string // of it, where it is part of the program
	options string // the environment variable
	code    int    // what it exits with when LeakSanitizer fails
}

// leakCheckers have LeakSanitizer's own last: AddressSanitizer has its symbol, too.
var leakCheckers = []leakChecker{
	{"asan", "__asan_init", "ASAN_OPTIONS", 1},
	{"lsan", "__lsan_init", "LSAN_OPTIONS", 23},
}

// hintLeakSanitizer says why a program may have failed that would not without hdb: LeakSanitizer
// traces the process itself, which no process can that hdb traces, and exits with an error.
func (x *Execution) hintLeakSanitizer(exit inferior.ExitStatus) {
	if exit.Signal != 0 || exit.Code == 0 || x.target.Names.Program == nil {
		return
	}
	for _, c := range leakCheckers {
		if !c.in(x.target.Names.Images(), x.target.Names.Program) {
			continue
		}
		if exit.Code == c.code && !x.skipsLeaks() {
			x.target.Notify("exit code %d may come from LeakSanitizer, which does not work under a debugger: run the program with %s=detect_leaks=0", c.code, c.options)
		}
		return
	}
}

// in reports whether the program has the runtime.
func (c *leakChecker) in(images []names.Image, p *names.Program) bool {
	for _, m := range images {
		if strings.Contains(filepath.Base(m.Name), c.library) && strings.Contains(m.Name, ".so") {
			return true
		}
	}
	if p.Object == nil {
		return false
	}
	_, ok := p.Object.Symtab.Symbol(c.symbol)
	return ok
}

// skipsLeaks reports whether the program's environment turns LeakSanitizer off.
func (x *Execution) skipsLeaks() bool {
	for _, name := range []string{"ASAN_OPTIONS", "LSAN_OPTIONS"} {
		value, set := x.target.Settings.Env[name]
		if !set && !x.target.Settings.UnsetEnv[name] {
			value = os.Getenv(name)
		}
		for option := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" ,:\t\n", r) }) {
			if option == "detect_leaks=0" || option == "detect_leaks=false" || option == "detect_leaks=no" {
				return true
			}
		}
	}
	return false
}
