package query

import (
	"fmt"
	"regexp"
	"testing"

	"hdb/names"
	"hdb/symbols"
)

// TestOuter folds the frames that lead to the user's code, and none of that.
func TestOuter(t *testing.T) {
	a := NewAttribution(regexp.MustCompile(DefaultWrappers), regexp.MustCompile(DefaultLibraries))
	const libc, libstdcxx, program = "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/home/me/program"
	frame := func(function, file, path string) names.Frame {
		f := names.Frame{Path: path}
		f.Function, f.File, f.Line, f.Frame.Source = function, file, 7, symbols.FromDWARF
		return f
	}
	const site = "/usr/lib/python3/dist-packages"
	python := func(function, file string) names.Frame {
		f := frame(function, file, "")
		f.Frame.Source = symbols.FromPython
		return f
	}
	mine := frame("work", "/home/me/work.cc", program)
	main := frame("main", "/home/me/work.cc", program)
	start := []names.Frame{frame("__libc_start_call_main", "", libc), frame("__libc_start_main_impl", "", libc), frame("_start", "", program)}
	entry := names.Frame{Path: program}
	entry.Function, entry.Frame.Source = "main", symbols.FromSymtab
	thread := []names.Frame{
		frame("std::__invoke_impl<void, main()::<lambda()> >", "/usr/include/c++/12/bits/invoke.h", program),
		frame("std::thread::_State_impl<x>::_M_run()", "/usr/include/c++/12/bits/std_thread.h", program),
		frame("", "", libstdcxx), frame("start_thread", "", libc), frame("clone3", "", libc)}
	tokio := []names.Frame{
		frame("tokio::runtime::task::core::Core<T,S>::poll", "/root/.cargo/registry/src/x/tokio-1.0/src/runtime/task/core.rs", program),
		frame("<tokio::runtime::blocking::task::BlockingTask<T> as core::future::future::Future>::poll", "/x.rs", program),
		frame("start_thread", "", libc)}
	for _, tc := range []struct {
		name   string
		frames []names.Frame
		site   int
		n      int
		of     string

		between [][2]int
	}{
		{"main", append([]names.Frame{mine, main}, start...), 0, 3, "the C library", nil},
		{"std::thread", append([]names.Frame{mine}, thread...), 0, 5, "std::thread", nil},
		{"tokio", append([]names.Frame{mine}, tokio...), 0, 3, "tokio", nil},
		{"pytest", []names.Frame{python("test_it", "/home/me/test_it.py"), python("pytest_pyfunc_call", site+"/_pytest/python.py"),
			python("_hookexec", site+"/pluggy/_manager.py"), python("<module>", "/usr/local/bin/pytest")}, 0, 3, "pytest", nil},
		{"a script of the user's", []names.Frame{python("work", "/app/bin/serve"), python("<module>", "/app/bin/serve")}, 0, 0, "", nil},
		{"a Thread of the user's", []names.Frame{mine, frame("Thread::run()", "/home/me/thread.cc", program), start[0], start[1]}, 0, 2, "the C library", nil},
		{"Java", []names.Frame{mine, frame("Thread::call_run()", "", "/usr/lib/jvm/x/lib/server/libjvm.so"), frame("start_thread", "", libc)}, 0, 2, "the Java VM", nil},
		{"Rust", append([]names.Frame{mine, frame("std::rt::lang_start_internal", "/rustc/59807616/library/std/src/rt.rs", program), entry}, start...), 0, 5, "the Rust runtime", nil},
		{"main without debug information", append([]names.Frame{mine, frame("std::sort", "/usr/include/c++/12/bits/stl_algo.h", program), entry}, start...), 0, 3, "the C library", nil},
		{"one alone", []names.Frame{mine, main, start[2]}, 0, 0, "", nil},
		{"a callback", []names.Frame{mine, frame("qsort", "", libc), frame("qsort_r", "", libc), main}, 0, 0, "", [][2]int{{1, 3}}},
		{"no code of the user's", thread, 0, 0, "", nil},
		{"none", nil, 0, 0, "", nil},
		{"make_shared", append([]names.Frame{mine, frame("std::_Construct<A>", "/usr/include/c++/12/bits/stl_construct.h", program),
			frame("std::make_shared<A>()", "/usr/include/c++/12/bits/shared_ptr.h", program), main, frame("std::sort", "/usr/include/c++/12/bits/stl_algo.h", program), main}, start...), 0, 3, "the C library", [][2]int{{1, 3}}},
	} {
		if got := a.Between(tc.frames, tc.site, len(tc.frames)-tc.n); fmt.Sprint(got) != fmt.Sprint(tc.between) {
			t.Errorf("%s: hidden between: %v, want %v", tc.name, got, tc.between)
		}
		if n, of := a.Outer(tc.frames, tc.site); n != tc.n || of != tc.of {
			t.Errorf("%s: %d of %q, want %d of %q", tc.name, n, of, tc.n, tc.of)
		}
	}
}
