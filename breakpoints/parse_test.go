package breakpoints

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/internal/cond"
)

func TestParseFunction(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"my_alloc size=ARG2 ptr=RET", "alloc size=arg1 ptr=ret"},
		{"my_alloc size=arg1", "alloc size=arg0 ptr=ret"},
		{"  pool_get   size=4k  ", "alloc size=4096 ptr=ret"},
		{"grow old=ARG1 size=ARG3 count=ARG2", "realloc size=arg2 count=arg1 old=arg0 ptr=ret"},
		{"get size=ARG3 align=ARG2 ptr=*ARG1", "alloc size=arg2 align=arg1 ptr=*arg0"},
		{"put free=ARG2", "free ptr=arg1"},
		{"put free=ARG2 size=ARG3", "free size=arg2 ptr=arg1"},
		{"app::Pool<int, 4>::get(unsigned long) const size=ARG2", "alloc size=arg1 ptr=ret"},
		{"Pool::operator new(unsigned long) size=ARG1", "alloc size=arg0 ptr=ret"},
		{"Pool::operator= (Pool const&) size=ARG1", "alloc size=arg0 ptr=ret"},
		{"get(int, long sise=ARG1", `column 15: unknown key "sise" (size, count, align, old, ptr, free)`},
		{"", "column 1: no function named (example: my_alloc size=ARG2 ptr=RET)"},
		{"size=ARG1", "column 1: the function's name comes first (example: my_alloc size=ARG2 ptr=RET)"},
		{"f", "column 1: f needs size=ARG1 or free=ARG1"},
		{"f size", `column 3: "size=" is not KEY=ARG1..ARG6, KEY=RET, KEY=*ARG1 or KEY=NUMBER`},
		{"f size=ARG0", `column 3: "size=ARG0" is not KEY=ARG1..ARG6, KEY=RET, KEY=*ARG1 or KEY=NUMBER`},
		{"f size=ARG7", `column 3: "size=ARG7" is not KEY=ARG1..ARG6, KEY=RET, KEY=*ARG1 or KEY=NUMBER`},
		{"f size=ARG1 size=ARG2", "column 13: size is given twice"},
		{"f size=RET", "column 3: size must be known at entry: ARG1..ARG6 or a number"},
		{"f free=3", "column 3: free must be known at entry: ARG1..ARG6"},
		{"f size=ARG1 ptr=ARG2", "column 13: ptr is the block returned: RET or *ARG1..*ARG6 (free=ARG1 for a function that frees)"},
		{"f sise=ARG1", `column 3: unknown key "sise" (size, count, align, old, ptr, free)`},
		{"f free=ARG1 ptr=RET", "column 1: a function that frees takes free= and size= only"},
		{"\xff x", `column 3: "x=" is not KEY=ARG1..ARG6, KEY=RET, KEY=*ARG1 or KEY=NUMBER`},
	} {
		f, err := ParseFunction(c.text)
		got := describe(f)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("ParseFunction(%q)\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func describe(f Function) string {
	s := f.Kind.String()
	for _, o := range []struct {
		name string
		Operand
	}{{"size", f.Size}, {"count", f.Count}, {"align", f.Align}, {"old", f.Old}, {"ptr", f.Ptr}} {
		switch o.From {
		case Argument:
			s += fmt.Sprintf(" %s=arg%d", o.name, o.Index)
		case Pointed:
			s += fmt.Sprintf(" %s=*arg%d", o.name, o.Index)
		case Returned:
			s += " " + o.name + "=ret"
		case Constant:
			s += fmt.Sprintf(" %s=%d", o.name, o.Value)
		}
	}
	return s
}

func TestParseSpec(t *testing.T) {
	pool, err := ParseFunction("pool_get size=ARG1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"alloc", "alloc"},
		{"free", "free"},
		{"malloc", "alloc [malloc]"},
		{"operator new", "alloc [operator new]"},
		{"operator delete[] if addr == 0x10", "free [operator delete[]] if addr == 0x10"},
		{"_Znwm", "alloc [_Znwm]"},
		{"cfree", "free [cfree]"},
		{"munmap", "free [munmap]"},
		{"runtime.mallocgc if size > 1k", "alloc [runtime.mallocgc] if size > 1KiB"},
		{"pool_get", "alloc [pool_get]"},
		{"alloc if size >= 1MiB", "alloc if size >= 1MiB"},
		{"alloc if(size >= 1MiB)", "alloc if size >= 1MiB"},
		{"alloc thread 3 if size >= 1MiB", "alloc thread 3 if size >= 1MiB"},
		{"alloc if thread == 3", "alloc if thread == 3"},
		{"alloc if func(\"x if y\")", `alloc if func("x if y")`},
		{"alloc #4711", "alloc #4711"},
		{"alloc#4711", "alloc #4711"},
		{"free #12 if size > 1", "free #12 if size > 1"},
		{"operator new #3", "alloc [operator new] #3"},
		{"", "line +0"},
		{"  ", "line +0"},
		{"if live > 1G", "line +0 if live > 1GiB"},
		{"main", "function main"},
		{" main ", "function main"},
		{"std::vector<int>::push_back(int const&)", "function std::vector<int>::push_back(int const&)"},
		{"thread", "function thread"},
		{"thread_start thread 2", "function thread_start thread 2"},
		{"file.c:12", "line file.c:12"},
		{"'file.c':12", "line file.c:12"},
		{`"file.c":12 if func("f")`, `line file.c:12 if func("f")`},
		{"-source file.c -line 12", "line file.c:12"},
		{"-line 12 -source file.c", "line file.c:12"},
		{"/src/a b/file.c:12", "line /src/a b/file.c:12"},
		{"/src/file.cc:ns::f", "function /src/file.cc:ns::f"},
		{"src/a b.c:12 if nth > 3", "line src/a b.c:12 if nth > 3"},
		{"file.cc:ns::f", "function file.cc:ns::f"},
		{"12", "line 12"},
		{"+3", "line +3"},
		{"-3", "line -3"},
		{"*0x401000", "address 0x401000"},
		{"* 0x401000 thread 1", "address 0x401000 thread 1"},
		{"/^load_ if/", "regexp ^load_ if"},
		{"/x/ thread 2 if func(main)", `regexp x thread 2 if func("main")`},
		{"alloc #x", "column 1: alloc # needs the number of an event, as in alloc #4711"},
		{"alloc if sizee > 1 && size > 1", "alloc if sizee > 1 && size > 1"},
		{"alloc if", "condition: column 1: the condition is empty (example: size >= 64k && thread == 1)"},
		{"é.c:1 if size > 1", "line é.c:1 if size > 1"}, // a variable of the program
		{"free if old == 1", "free if old == 1"},
		{"é.c:1 if size > 'x", "condition: column 8: the string has no closing '"},
		{"main thread x", `column 12: thread needs a thread number, found "x"`},
		{"main thread 0 if nth > 1", `column 12: thread needs a thread number, found "0"`},
		{"*main", "address 0x0"},
		{"*", "column 1: * needs an address, as in *0x401000 or *main+4"},
		{"0x401000", `column 1: "0x401000" is not a line number (for an address: *0x401000)`},
		{"file.c:0", `column 1: "0" is not a line number`},
		{"file.c:", `column 1: "file.c:" is neither FILE:LINE nor FILE:FUNCTION`},
		{"+x", `column 1: "+x" is not a number of lines`},
		{"/(/", "column 1: /(/: error parsing regexp: missing closing ): `(`"},
		{"/abc", "column 1: a regular expression must be between slashes, as in /^load_/"},
	} {
		s, err := ParseSpec(c.text, pool)
		got := describeSpec(s)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("ParseSpec(%q)\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// What stands behind a location without the word if is no part of a name.
func TestParseSpecWithoutIf(t *testing.T) {
	for _, c := range []struct{ text, rest, example string }{
		{"alloc size>3", "size>3", "alloc if size>3"},
		{"alloc where size > 3", "where size > 3", "alloc if size > 3"},
		{"alloc&&size>3", "&&size>3", "alloc if size>3"},
		{"alloc, if size>3", ",", "alloc if size >= 64k"},
		{"alloc thread==3", "thread==3", "alloc if thread==3"},
		{"alloc foo", "foo", "alloc if size >= 64k"},
		{"alloc kind(calloc)", "kind(calloc)", "alloc if kind(calloc)"},
		{"alloc #3 size>3", "size>3", "alloc #3 if size>3"},
		{"alloc thread 2 size>3", "size>3", "alloc thread 2 if size>3"},
		{"malloc size > 3", "size > 3", "malloc if size > 3"},
		{"operator new[] size>3", "size>3", "operator new[] if size>3"},
		{"free addr==0x12", "addr==0x12", "free if addr==0x12"},
		{"free old == 1", "old == 1", "free if size >= 64k"},
		{"main size>3", "size>3", `main if func("parse")`},
		{"main live > 1G", "live > 1G", "main if live > 1G"},
		{"main nth<5", "nth<5", "main if nth<5"},
		{"main func(\"x\")", `func("x")`, `main if func("x")`},
		{"main iff nth == 5", "iff nth == 5", "main if nth == 5"},
		{"f(int) nth > 5", "nth > 5", "f(int) if nth > 5"},
		{"std::vector<int>::at nth > 5", "nth > 5", "std::vector<int>::at if nth > 5"},
		{"f.c:12 size > 3", "size > 3", `f.c:12 if func("parse")`},
		{"a b.c:12 nth > 3", "nth > 3", "a b.c:12 if nth > 3"},
		{"f.c:main nth > 3", "nth > 3", "f.c:main if nth > 3"},
		{"12 13", "13", `12 if func("parse")`},
		{"+1 nth > 3", "nth > 3", "+1 if nth > 3"},
		{"*0x401000 nth > 3", "nth > 3", "*0x401000 if nth > 3"},
		{"*main+4 live", "live", `*main+4 if func("parse")`},
		{"/foo/ nth>2", "nth>2", "/foo/ if nth>2"},
		{"/foo/ x thread 2", "x", `/foo/ if func("parse")`},
	} {
		_, err := ParseSpec(c.text)
		at := strings.Index(c.text, c.rest)
		want := fmt.Sprintf("column %d: %q is not part of a location: write a condition after if, as in: %s", at+1, c.rest, c.example)
		if err == nil || err.Error() != want {
			t.Errorf("ParseSpec(%q)\n got %v\nwant %s", c.text, err, want)
		}
		if _, err := ParseSpec(c.example); err != nil {
			t.Errorf("the example %q: %v", c.example, err)
		}
	}
}

// delve's names of breakpoints are not taken for functions without a word.
func TestParseSpecNamedAsInDelve(t *testing.T) {
	for text, location := range map[string]string{"here main.work": "main.work", "here f": "f", "here f if nth > 3": "f"} {
		if _, err := ParseSpec(text); err == nil || !strings.HasSuffix(err.Error(), "; breakpoints have numbers, and no names as in delve: "+location) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"12 f", "f size>3", "f where nth == 3"} {
		if _, err := ParseSpec(text); err == nil || strings.Contains(err.Error(), "delve") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Names of functions with words and comparisons in them stay names.
func TestParseSpecOddNames(t *testing.T) {
	for _, name := range []string{
		"operator new(unsigned long)", "A::operator unsigned long", "operator<", "A::operator==", "operator< <int>", "B::operator->",
		"std::map<int, std::less<int> >::find(int const&) const", "void f<int>(int)", "(anonymous namespace)::f", "f(int) [clone .cold]",
		"f<(x)3>", "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<fn() -> u32 as T>::call", "core::ptr::drop_in_place::{{closure}}",
		"main.(*T).Get", "main.Map[go.shape.int,go.shape.string]", "f(void (*)(int))", "f() const", "mallocate", "alloc_pages", "free_all",
		"f<int>::g(std::pair<int, int> const&) &&", "freelist::add(int)", "main::f<3>::g",
	} {
		if s, err := ParseSpec(name); err != nil || s.Kind != StopFunction && s.Kind != StopAlloc || s.Kind == StopFunction && s.Function != name {
			t.Errorf("ParseSpec(%q) = %s, %v", name, describeSpec(s), err)
		}
	}
	s, err := ParseSpec(`/a/b\/c/ if func("x/y")`)
	if err != nil || s.Regexp.String() != `a/b\/c` || s.Cond == nil {
		t.Errorf("%s, %v", describeSpec(s), err)
	}
}

func describeSpec(s Spec) string {
	text := s.Kind.String()
	if s.Funcs != nil {
		text += fmt.Sprintf(" %v", s.Funcs)
	}
	if s.Nth != 0 {
		text += fmt.Sprintf(" #%d", s.Nth)
	}
	where := s.Function
	switch {
	case s.Line != 0:
		where = fmt.Sprint(s.Line)
	case s.Kind == StopLine:
		where = fmt.Sprintf("%+d", s.Offset)
	case s.Kind == StopAddress:
		where = s.Addr.String()
	case s.Kind == StopRegexp:
		where = s.Regexp.String()
	}
	if s.File != "" {
		where = s.File + ":" + where
	}
	if where != "" {
		text += " " + where
	}
	if s.Thread != 0 {
		text += fmt.Sprintf(" thread %d", s.Thread)
	}
	if s.Cond != nil {
		text += " if " + s.Cond.String()
	}
	return text
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"alloc if size >= 1MiB", "f.c:1 thread 2 if x", "/a/ if func(b)", "*0x1", "alloc #1", "/", "é thread if"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := ParseSpec(text)
		var e *cond.Error
		if err == nil {
			return
		}
		if !errors.As(err, &e) || e.Col < 1 || e.Col > len([]rune(text))+1 {
			t.Fatalf("ParseSpec(%q): %v has no good column", text, err)
		}
	})
}

func FuzzParseFunction(f *testing.F) {
	for _, s := range []string{"f size=ARG1", "f old=ARG1 size=4k ptr=*ARG2", "f free=ARG6", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := ParseFunction(text)
		var e *cond.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("ParseFunction(%q): %v has no column", text, err)
		}
		if err == nil && (fn.Name == "" || fn.Group != GroupUser) {
			t.Fatalf("ParseFunction(%q) = %+v", text, fn)
		}
	})
}

func TestCallString(t *testing.T) {
	funcs := map[string]Function{}
	for _, f := range Catalogue() {
		funcs[f.Symbol] = f
	}
	const block = 0x7f0000001000
	minus := func(n uint64) uint64 { return -n }
	for _, c := range []struct {
		symbol string
		args   [6]uint64
		result uint64
		want   string
		event  capture.Event
	}{
		{"malloc", [6]uint64{4194304}, block, "malloc(4194304) = 0x7f0000001000", capture.Event{Addr: block, Size: 4194304}},
		{"malloc", [6]uint64{1 << 60}, 0, "malloc(1152921504606846976) = NULL", capture.Event{Size: 1 << 60, Failed: true}},
		{"calloc", [6]uint64{2, 96}, block, "calloc(2, 96) = 0x7f0000001000", capture.Event{Addr: block, Size: 192, Aux: 2}},
		{"free", [6]uint64{block}, 0, "free(0x7f0000001000)", capture.Event{Kind: capture.Free, Addr: block}},
		{"realloc", [6]uint64{block, 64}, block + 64, "realloc(0x7f0000001000, 64) = 0x7f0000001040",
			capture.Event{Kind: capture.Realloc, Addr: block + 64, Old: block, Size: 64}},
		{"realloc", [6]uint64{block, 0}, 0, "realloc(0x7f0000001000, 0) = NULL", capture.Event{Kind: capture.Realloc, Old: block}},
		{"realloc", [6]uint64{block, 1 << 60}, 0, "realloc(0x7f0000001000, 1152921504606846976) = NULL",
			capture.Event{Kind: capture.Realloc, Old: block, Size: 1 << 60, Failed: true}},
		{"reallocf", [6]uint64{block, 1 << 60}, 0, "reallocf(0x7f0000001000, 1152921504606846976) = NULL",
			capture.Event{Kind: capture.Realloc, Old: block, Size: 1 << 60}},
		{"realloc", [6]uint64{0, 0}, 0, "realloc(0x0, 0) = NULL", capture.Event{Kind: capture.Realloc, Failed: true}},
		{"calloc", [6]uint64{1 << 40, 1 << 40}, 0, "calloc(1099511627776, 1099511627776) = NULL",
			capture.Event{Size: 1<<64 - 1, Aux: 1 << 40, Failed: true}},
		{"reallocarray", [6]uint64{block, 3, 5}, block, "reallocarray(0x7f0000001000, 3, 5) = 0x7f0000001000",
			capture.Event{Kind: capture.Realloc, Addr: block, Old: block, Size: 15, Aux: 3}},
		{"aligned_alloc", [6]uint64{64, 4096}, block, "aligned_alloc(64, 4096) = 0x7f0000001000", capture.Event{Addr: block, Size: 4096, Aux: 64}},
		{"posix_memalign", [6]uint64{0x1000, 64, 4096}, 0, "posix_memalign(64, 4096) = 0x7f0000001000", capture.Event{Addr: block, Size: 4096, Aux: 64}},
		{"posix_memalign", [6]uint64{0x1000, 3, 4096}, 22, "posix_memalign(3, 4096) = NULL", capture.Event{Size: 4096, Aux: 3, Failed: true}},
		{"_Znwm", [6]uint64{72}, block, "operator new(72) = 0x7f0000001000", capture.Event{Addr: block, Size: 72}},
		{"_ZnamSt11align_val_t", [6]uint64{72, 64}, block, "operator new[](72, 64) = 0x7f0000001000", capture.Event{Addr: block, Size: 72, Aux: 64}},
		{"_ZdlPvm", [6]uint64{block, 72}, 0, "operator delete(0x7f0000001000, 72)", capture.Event{Kind: capture.Free, Addr: block, Size: 72}},
		{"mmap", [6]uint64{0, 4096, 3, 0x22}, block, "mmap(4096) = 0x7f0000001000", capture.Event{Kind: capture.Map, Addr: block, Size: 4096, Aux: 0x2203}},
		{"mmap", [6]uint64{0, 4096, 0, 0x4022}, minus(1), "mmap(4096) = -1", capture.Event{Kind: capture.Map, Size: 4096, Aux: 0x402200, Failed: true}},
		{"mprotect", [6]uint64{block, 4096, 1}, 0, "mprotect(0x7f0000001000, 4096, PROT_READ)", capture.Event{Kind: capture.Protect, Addr: block, Size: 4096, Aux: 1}},
		{"mprotect", [6]uint64{block, 4096, 0}, minus(1), "mprotect(0x7f0000001000, 4096, PROT_NONE) = -1", capture.Event{Kind: capture.Protect, Size: 4096, Failed: true}},
		{"munmap", [6]uint64{block, 4096}, 0, "munmap(0x7f0000001000, 4096)", capture.Event{Kind: capture.Unmap, Addr: block, Size: 4096}},
		{"mremap", [6]uint64{block, 1, 8192}, block + 64, "mremap(0x7f0000001000, 8192) = 0x7f0000001040",
			capture.Event{Kind: capture.Map, Addr: block + 64, Old: block, Size: 8192, Aux: 1}},
		{"sbrk", [6]uint64{4096}, block, "sbrk(4096) = 0x7f0000001000", capture.Event{Kind: capture.Map, Addr: block, Size: 4096}},
		{"sbrk", [6]uint64{minus(4096)}, block, "sbrk(-4096) = 0x7f0000001000", capture.Event{Kind: capture.Unmap, Addr: block - 4096, Size: 4096}},
		{"sbrk", [6]uint64{minus(1 << 40)}, minus(1), "sbrk(-1099511627776) = -1", capture.Event{Kind: capture.Unmap, Size: 1 << 40, Failed: true}},
		{"brk", [6]uint64{block}, minus(1), "brk(0x7f0000001000) = -1", capture.Event{Kind: capture.Map, Failed: true}},
		{"brk", [6]uint64{block}, 0, "brk(0x7f0000001000)", capture.Event{Kind: capture.Map, Addr: block}},
		{"mi_strdup", [6]uint64{0x2000}, 0x1008, "mi_strdup(6) = 0x1008", capture.Event{Addr: 0x1008, Size: 6}},
		{"mi_heap_malloc", [6]uint64{0x2000, 16}, block, "mi_heap_malloc(16) = 0x7f0000001000", capture.Event{Addr: block, Size: 16}},
	} {
		f, ok := funcs[c.symbol]
		if !ok {
			t.Errorf("no %s in the catalogue", c.symbol)
			continue
		}
		mem := newFakeProcess()
		mem.poke(0x1000, block)
		mem.write(0x1008, []byte("hello\x00"))
		call := Call{Function: f, Args: c.args}
		call.begin()
		if !f.atEntry() {
			call.finish(c.result, reader{mem})
		}
		if call.Event != c.event {
			t.Errorf("%s: event\n got %+v\nwant %+v", c.want, call.Event, c.event)
		}
		if call.String() != c.want {
			t.Errorf("%s printed as %s", c.want, call)
		}
	}
}
