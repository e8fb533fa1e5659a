package query

import (
	"path"
	"strings"

	"hdb/internal/lazyregexp"
	"hdb/internal/modkind"
	"hdb/names"
)

// dispatches matches functions of crates that call the user's code; crates are in no library's place.
var dispatches = lazyregexp.New(`^<?(tokio|async_std|futures_executor|futures_util|rayon_core|rayon|actix_rt)::`)

// A caller is what a frame that only leads to the user's code belongs to, a row of callers from 1; 0: it is the user's own.
type caller uint8

// callers are the kinds of callers, those that say most first. What no row matches is the last one's.
var callers = [...]struct {
	of    string
	match func(f *names.Frame) bool
	main  bool // its library has the program's main
}{
	{of: "tokio", match: func(f *names.Frame) bool { return inNamespace(f, "tokio::") }},
	{of: "rayon", match: func(f *names.Frame) bool { return inNamespace(f, "rayon::") || inNamespace(f, "rayon_core::") }},
	{of: "pytest", match: isPytest},
	{of: "asyncio", match: func(f *names.Frame) bool { return strings.Contains(f.File, "/asyncio/") }},
	{of: "threading", match: func(f *names.Frame) bool { return path.Base(f.File) == "threading.py" }},
	{of: "runpy", match: func(f *names.Frame) bool { return f.File == "<frozen runpy>" || path.Base(f.File) == "runpy.py" }},
	{of: "std::thread", match: func(f *names.Frame) bool { return strings.Contains(f.Function, "std::thread::") }},
	{of: "the Rust runtime", main: true, match: func(f *names.Frame) bool { return inNamespace(f, "std::rt::") }},
	{of: "the Java VM", match: func(f *names.Frame) bool { return isJVM(f) }},
	{of: "the Go runtime", match: func(f *names.Frame) bool { return strings.HasPrefix(f.Function, "runtime.") }},
	{of: "the C library", match: func(f *names.Frame) bool { return modkind.IsCLibrary(f.Path) || startsProgram(f.Function) }},
	{of: "libraries", match: func(*names.Frame) bool { return true }},
}

// Frames that are the user's own unless they call what is named here.
const (
	script = caller(len(callers) + 1 + iota) // a script of Python in a bin directory, such as /usr/local/bin/pytest: calls a library
	entry                                    // a main without debug information: calls Rust's runtime, which has compiled it in
)

func inNamespace(f *names.Frame, scope string) bool {
	return strings.HasPrefix(strings.TrimPrefix(f.Function, "<"), scope)
}

// caller is what calls the user's code by a frame that is further out; 0 if the frame is the user's own code.
func (a *Attribution) caller(f *names.Frame) caller {
	switch dir, name := path.Split(f.File); {
	case f.Function == "<module>" && path.Base(dir) == "bin" && !strings.Contains(name, "."):
		return script
	case f.Function == "main" && f.Line == 0:
		return entry
	case a.Own(f) && !isJVM(f) && !isPytest(f) && !dispatches().MatchString(f.Function):
		return 0
	}
	i := 0
	for !callers[i].match(f) {
		i++
	}
	return caller(i + 1)
}

// isPytest reports whether a frame is of pytest or its plug-in manager; packages that are installed are the user's otherwise.
func isPytest(f *names.Frame) bool {
	return strings.Contains(f.File, "/_pytest/") || strings.Contains(f.File, "/pluggy/")
}

// isJVM reports whether a frame is in Java's virtual machine, which has no place of a library.
func isJVM(f *names.Frame) bool { return path.Base(f.Path) == "libjvm.so" }

// Outer is how many of the outermost frames of a stack only lead to the user's code: what calls main, and threads, runtimes
// and test frameworks that call it. of names them. The frame that blocks belong to, site, is not among them, nor is any inner one. There are none in a stack without code of the user's, and never one alone.
func (a *Attribution) Outer(frames []names.Frame, site int) (n int, of string) {
	return outer(len(frames), site, func(i int) caller { return a.caller(&frames[i]) })
}

// only reports whether a script or entry that calls such a frame only leads to the user's code.
func (c caller) only(next caller) bool {
	known := next > 0 && next <= caller(len(callers))
	return known && (c == script || callers[next-1].main)
}

// Between are the runs of at least two frames that are libraries' among those that are shown, from index low up to high; the first
// and the last of these are not in any.
func (a *Attribution) Between(frames []names.Frame, low, high int) [][2]int {
	return between(low, high, func(i int) caller { return a.caller(&frames[i]) })
}

func between(low, high int, at func(i int) caller) (runs [][2]int) {
	if low >= high || at(low) != 0 && at(low) != entry { // no code of the user's
		return nil
	}
	for i := low + 1; i < high-1; i++ {
		from := i
		for i < high-1 && at(i) != 0 && at(i) <= caller(len(callers)) {
			i++
		}
		if i-from >= 2 {
			runs = append(runs, [2]int{from, i})
		}
	}
	return runs
}

func outer(n, site int, at func(i int) caller) (count int, of string) {
	best := caller(len(callers))
	for i := n - 1; i > site; i-- {
		c := at(i)
		if c > caller(len(callers)) && i-1 > site && c.only(at(i-1)) {
			c = at(i - 1)
		}
		if c == 0 || c > caller(len(callers)) {
			break
		}
		count++
		best = min(best, c)
	}
	if count < 2 || at(site) != 0 && at(site) != entry {
		return 0, ""
	}
	return count, callers[best-1].of
}
