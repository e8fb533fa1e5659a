package query

import (
	"regexp"
	"strings"
	"testing"

	"hdb/names"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

func defaults() *Attribution {
	return NewAttribution(regexp.MustCompile(DefaultWrappers), regexp.MustCompile(DefaultLibraries))
}

// frame reads "FUNCTION @ FILE | PATH": with a source file the function has debug
// information; without a path it is in the program.
func frame(text string) *names.Frame {
	f := &names.Frame{Path: "/home/me/prog"}
	text, path, ok := strings.Cut(text, " | ")
	if ok {
		f.Path = path
	}
	if f.Function, f.File, ok = strings.Cut(text, " @ "); ok {
		f.Line, f.Frame.Source = 1, symbols.FromDWARF
	}
	if f.Function, ok = strings.CutPrefix(f.Function, "python "); ok {
		f.Path, f.Frame.Source = "", symbols.FromPython
	}
	if f.Function, ok = strings.CutPrefix(f.Function, "rust "); ok {
		f.Language = 0x1c // DW_LANG_Rust
	}
	if f.Function, ok = strings.CutPrefix(f.Function, "go "); ok {
		f.Language = dwarf.LangGo
	}
	return f
}

func TestRole(t *testing.T) {
	a := defaults()
	for text, want := range map[string]class{
		"Buffer::grow(unsigned long) @ /src/a.cc": own,
		"grow":                              own,
		"":                                  own, // of a stripped library of the user's
		"| /home/me/libplugin.so":           own,
		" | ":                               outside,
		"[jit] | ":                          own,
		"xmalloc @ /src/a.c":                wrapper,
		"operator new(unsigned long)":       allocator,
		"malloc | /opt/lib/libfast.so":      allocator,
		"je_malloc | /opt/libjemalloc.so.2": allocator,
		"_start":                            outside,
		"std::vector<int, std::allocator<int> >::push_back(int&&) @ /usr/include/c++/12/bits/stl_vector.h": library,
		"std::vector<int, std::allocator<int> >::push_back(int&&)":                                         library,
		"std::unique_ptr<Foo> std::make_unique<Foo, int>(int&&)":                                           library,
		"bool std::operator==<char>(std::string const&)":                                                   library,
		"void visit<std::vector<int> >(std::vector<int>&)":                                                 own,
		"(anonymous namespace)::grow(std::string)":                                                         own,
		"Foo::operator std::string() const":                                                                own,
		"core::Engine::start(int)":                                                                         own,
		"nlohmann::json::parse @ /usr/include/nlohmann/json.hpp":                                           library,
		"rust core::ptr::drop_in_place<T>":                                                                 library,
		"rust alloc::vec::Vec<T,A>::push":                                                                  library,
		"rust std::rt::lang_start":                                                                         library,
		"python handler @ /srv/app.py":                                                                     own,
		"python loads @ /usr/lib/python3.11/json/__init__.py":                                              library,
		"python get @ /usr/lib/python3/dist-packages/requests/api.py":                                      own,
		"python get @ /opt/venv/lib/python3.12/site-packages/requests/api.py":                              own,
		"python _find_and_load @ <frozen importlib._bootstrap>":                                            library,
		"rust app::Table::fill":                                                                            own,
		"rust <alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop":                                       library,
		"rust <T as core::convert::Into<U>>::into":                                                         library,
		"rust <&T as core::fmt::Debug>::fmt":                                                               library,
		"rust <[T]>::to_vec":                                                                               own, // unknown but for its source
		"rust <app::Thing as core::clone::Clone>::clone":                                                   own,
		"rust <alloc::vec::Vec<u8> as app::Encode>::encode":                                                own,
		"rust <alloc::vec::Vec<u8>>::with_capacity":                                                        library,
		"rust app::main::{{closure}} @ /rustc/90b35a6/library/core/src/ops/function.rs":                    library,
		"g_list_append | /usr/lib/x86_64-linux-gnu/libglib-2.0.so.0":                                       system,
		"_dl_init | /lib64/ld-linux-x86-64.so.2":                                                           system,
		"fopen | /opt/musl/lib/libc.so":                                                                    system,
		"fetch | /opt/curl/lib/libcurl.so.4":                                                               own,
		"PyList_New | /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0":                                      own,
		"array_new | /usr/lib/python3/dist-packages/numpy/core/_multiarray.so":                             own,
		"runtime.mallocgc":                                                                                 allocator,
		"fmt.Sprint @ /usr/local/go/src/fmt/print.go":                                                      library,
		"net/http.(*conn).serve @ net/http/server.go":                                                      library,
		"reflect.unsafe_New @ runtime/malloc.go":                                                           library,
		"time.Sleep @ runtime/time.go":                                                                     library,
		"main.work @ example.com/runtime/main.go":                                                          own,
		"main.serve @ example.com/net/http/server.go":                                                      own,
		"main.work @ /home/me/go/src/fmt/main.go":                                                          own,
		"runtime.growslice":                                                                                library,
		"main.(*page).grow":                                                                                own,
		"start @ /home/me/src/ld.c":                                                                        own,
	} {
		if got := a.Role(frame(text)).class; got != want {
			t.Errorf("%s: class %d, want %d", text, got, want)
		}
	}
	none := NewAttribution(nil, nil)
	for _, text := range []string{"xmalloc", "std::vector<int>::push_back(int)", "qsort | /lib/x86_64-linux-gnu/libc.so.6"} {
		if got := none.Role(frame(text)).class; got != own {
			t.Errorf("no expressions, %s: class %d", text, got)
		}
	}
}

func TestOwner(t *testing.T) {
	a := defaults()
	a.Interprets("/srv/server")
	a.Runs("/usr/lib/x86_64-linux-gnu/tool")
	const python = " | /usr/bin/python3.11"
	const libc, libstdcxx = " | /lib/x86_64-linux-gnu/libc.so.6", " | /usr/lib/x86_64-linux-gnu/libstdc++.so.6"
	for _, c := range []struct {
		name  string
		stack []string // innermost first
		want  int
		final bool
	}{
		{"the innermost frame of the user's", []string{"std::vector<int>::push_back(int)", "reserve_arena @ a.cc", "main @ a.cc"}, 1, true},
		{"no wrapper", []string{"alloc_node @ a.c", "xmalloc @ a.c", "insert @ a.c", "main @ a.c"}, 2, true},
		{"no library of the system", []string{"g_strndup | /usr/lib/x86_64-linux-gnu/libglib-2.0.so.0", "xmlNew | /usr/lib/libxml2.so.2", "load @ a.c"}, 2, true},
		{"a library of the user's without names", []string{" | /home/me/libplugin.so", "main @ a.c"}, 0, false},
		{"linked from an archive", []string{"fopen", "BIO_new_file", "load @ a.c", "_start"}, 2, true},
		{"no debug information at all", []string{"xmalloc", "qsort_r", "main", "_start"}, 1, false},
		{"debug information further in only", []string{"load @ a.c", "callback"}, 0, true},
		{"a library between", []string{"helper", "plug | /home/me/libplugin.so", "main @ a.c"}, 1, false},
		{"nothing but libraries' functions", []string{"xmalloc @ a.c", "std::thread::run() @ /usr/include/c++/12/thread", "start_thread" + libc}, 1, false},
		{"nothing but wrappers", []string{"xmalloc @ a.c", "xcalloc @ a.c", "start_thread" + libc}, 0, false},
		{"Go's runtime itself", []string{"go runtime.mallocgc", "go runtime.newobject", "go runtime.schedinit", "go runtime.rt0_go"}, 2, false},
		{"what Go's runtime does for the user", []string{"go runtime.mallocgc", "go runtime.growslice", "go runtime.mapassign", "go main.fill @ fill.go"}, 3, true},
		{"nothing but libraries", []string{"operator new(unsigned long)" + libstdcxx, "init" + libstdcxx, "call_init | /lib64/ld-linux-x86-64.so.2"}, 1, false},
		{"Python, not its interpreter", []string{"list_resize @ listobject.c" + python, "python handler @ /srv/app.py",
			"_PyEval_EvalFrameDefault @ ceval.c" + python, "main @ python.c" + python}, 1, true},
		{"nor its standard library", []string{"PyUnicode_New @ unicodeobject.c" + python, "scanner_call | /usr/lib/python3.11/lib-dynload/_json.so", "python loads @ /usr/lib/python3.11/json/__init__.py",
			"python handler @ /srv/app.py", "_PyEval_EvalFrameDefault" + python}, 3, true},
		{"nor an extension of that with debug information, through another library", []string{"sqlite3_malloc | /usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "pysqlite_statement_create @ statement.c | /usr/lib/python3.11/lib-dynload/_sqlite3.so",
			"python handler @ /srv/app.py", "_PyEval_EvalFrameDefault" + python}, 2, true},
		{"an extension that Python has called", []string{"Buffer::grow() @ ext.cc | /srv/ext.so", "PyCFunction_Call" + python, "python handler @ /srv/app.py", "_PyEval_EvalFrameDefault" + python}, 0, true},
		{"an extension without debug information", []string{"grow | /srv/ext.so", "PyCFunction_Call" + python, "python handler @ /srv/app.py", "_PyEval_EvalFrameDefault" + python}, 0, false},
		{"a program that embeds an interpreter", []string{"list_resize @ listobject.c | /srv/server", "python handler @ /srv/app.py", "_PyEval_EvalFrameDefault @ ceval.c | /srv/server"}, 1, true},
		{"the interpreter without Python", []string{"PyUnicode_New @ unicodeobject.c" + python, "Py_InitializeFromConfig @ pylifecycle.c" + python}, 0, false},
		{"nothing but libraries, and a wrapper of one", []string{"PL_malloc | /usr/lib/x86_64-linux-gnu/libswipl.so.9", "compileBody | /usr/lib/x86_64-linux-gnu/libswipl.so.9", "start_thread" + libc}, 1, false},
		{"nothing but a library's wrapper", []string{"scm_malloc | /usr/lib/libguile.so.1", "start_thread" + libc}, 0, false},
		{"a program among gcc's files", []string{"xmalloc | /usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "lookup_page | /usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "main | /usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"}, 1, false},
		{"a header of gcc", []string{"_mm_malloc @ /usr/lib/gcc/x86_64-linux-gnu/12/include/mm_malloc.h", "grow @ a.c"}, 1, true},
		{"a program that lies among libraries", []string{"xmalloc | /usr/lib/x86_64-linux-gnu/tool", "insert | /usr/lib/x86_64-linux-gnu/tool", "qsort_r" + libc, "main | /usr/lib/x86_64-linux-gnu/tool"}, 1, false},
		{"nothing but allocators", []string{"malloc" + libc, "calloc" + libc}, 0, false},
		{"nothing", nil, 0, false},
	} {
		var roles []Role
		for _, text := range c.stack {
			roles = append(roles, a.Role(frame(text)))
		}
		if got, final := OwnerSoFar(roles); got != c.want || final != c.final {
			t.Errorf("%s: frame %d, final %v, want %d, %v", c.name, got, final, c.want, c.final)
		}
		for n := range roles {
			if got, final := OwnerSoFar(roles[:n]); final && got != c.want {
				t.Errorf("%s: final after %d frames is frame %d", c.name, n, got)
			}
		}
	}
}
