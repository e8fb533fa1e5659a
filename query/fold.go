package query

import (
	"path"
	"strings"

	"hdb/internal/lazyregexp"
	"hdb/internal/modkind"
	"hdb/names"
)

// dispatches matches functions that call the user's code and are in no library's place: of crates, and of Java's virtual machine.
var dispatches = lazyregexp.New(`^<?(tokio|async_std|futures_executor|futures_util|rayon_core|rayon|actix_rt)::|^JavaCalls::|^(JavaThread|Thread)::(call_run|run|thread_main_inner)|^(thread_native_entry|call_stub|jni_invoke_\w+|JavaMain|ThreadJavaMain)$`)

// A caller is what a frame that only leads to the user's code belongs to, a row of callers from 1; 0: it is the user's own.
type caller uint8

// callers are the kinds of callers, those that say most first. What no row matches is the last one's.
var callers = [...]struct {
	of    string
	match func(f *names.Frame) bool
}{
	{"tokio", func(f *names.Frame) bool { return inNamespace(f, "tokio::") }},
	{"rayon", func(f *names.Frame) bool { return inNamespace(f, "rayon") }},
	{"pytest", func(f *names.Frame) bool {
		return strings.Contains(f.File, "/_pytest/") || strings.Contains(f.File, "/pluggy/")
	}},
	{"asyncio", func(f *names.Frame) bool { return strings.Contains(f.File, "/asyncio/") }},
	{"threading", func(f *names.Frame) bool { return path.Base(f.File) == "threading.py" }},
	{"runpy", func(f *names.Frame) bool { return f.File == "<frozen runpy>" || path.Base(f.File) == "runpy.py" }},
	{"std::thread", func(f *names.Frame) bool { return strings.Contains(f.Function, "std::thread::") }},
	{"the Rust runtime", func(f *names.Frame) bool { return inNamespace(f, "std::rt::") }},
	{"the Java VM", func(f *names.Frame) bool { return path.Base(f.Path) == "libjvm.so" }},
	{"the Go runtime", func(f *names.Frame) bool { return strings.HasPrefix(f.Function, "runtime.") }},
	{"the C library", func(f *names.Frame) bool { return modkind.IsCLibrary(f.Path) || startsProgram(f.Function) }},
	{"libraries", func(*names.Frame) bool { return true }},
}

func inNamespace(f *names.Frame, scope string) bool {
	return strings.HasPrefix(strings.TrimPrefix(f.Function, "<"), scope)
}

// caller is what a frame belongs to if it only leads to the user's code, where it is further out than that.
func (a *Attribution) caller(f *names.Frame) caller {
	if a.Own(f) && !dispatches().MatchString(f.Function) && !startsScript(f) {
		return 0
	}
	i := 0
	for !callers[i].match(f) {
		i++
	}
	return caller(i + 1)
}

// startsScript reports whether a frame is the script that an installed package of Python is started by, such as
// /usr/local/bin/pytest.
func startsScript(f *names.Frame) bool {
	dir, name := path.Split(f.File)
	return f.Function == "<module>" && path.Base(dir) == "bin" && !strings.Contains(name, ".")
}

// Outer is how many of the outermost frames of a stack only lead to the user's code: what calls main, and threads, runtimes
// and test frameworks that call it. of names them. The frame that blocks belong to, site, is not among them, nor is any inner one. There are none in a stack without code of the user's, and never one alone.
func (a *Attribution) Outer(frames []names.Frame, site int) (n int, of string) {
	return outer(len(frames), site, func(i int) caller { return a.caller(&frames[i]) })
}

func outer(n, site int, at func(i int) caller) (count int, of string) {
	best := caller(len(callers))
	for i := n - 1; i > site; i-- {
		c := at(i)
		if c == 0 {
			break
		}
		count++
		best = min(best, c)
	}
	if count < 2 || at(site) != 0 {
		return 0, ""
	}
	return count, callers[best-1].of
}
