package report

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hdb/internal/lazyregexp"
)

// A framePattern is a line of an entry of valgrind's: what one frame must be, or any frames.
type framePattern struct {
	what framePart
	glob string // * is any text, ? any one byte
	bare string // of a function: glob without what the compiler adds to the name of a copy, "" nothing
	line int    // of a source file, 0 any
}

// A framePart is the part of a frame that a framePattern matches.
type framePart byte

const (
	anyFrames framePart = iota // ...: none or more
	frameFunction
	frameObject // the path of the module
	frameSource
)

// leakKinds are the words of match-leak-kinds.
var leakKinds = map[string]LeakKind{
	"definite": LeakDefinite, "indirect": LeakIndirect, "possible": LeakPossible, "reachable": LeakReachable, "all": LeakAny, "none": 0,
}

// clones are the ends of names of copies that GCC makes of functions. Valgrind names functions by
// the symbol table, which has these endings.
var clones = lazyregexp.New(`(\.(isra|part|constprop|cold|lto_priv)(\.[0-9]+)?)+$`)

// entry reads an entry of valgrind's, behind its brace:
//
//	{
//	   a name
//	   Memcheck:Leak
//	   match-leak-kinds: definite,possible
//	   fun:malloc
//	   ...
//	   obj:*/libfoo.so*
//	}
//
// The kinds may be left out, which is all of them. Entries for other errors are passed over.
func (r *suppressionReader) entry() error {
	one := suppression{line: r.n, kinds: LeakAny}
	open := func() error { return fmt.Errorf("line %d: the entry has no end: } expected", one.line) }
	var ok bool
	if one.name, ok = r.next(); !ok {
		return open()
	}
	what, ok := r.next()
	if !ok {
		return open()
	}
	tools, kind, ok := strings.Cut(what, ":")
	if !ok || one.name == "}" {
		return r.expected(what, "the name of the entry, then TOOL:KIND like Memcheck:Leak")
	}
	leak := kind == "Leak" && slices.ContainsFunc(strings.Split(tools, ","), func(tool string) bool { return strings.TrimSpace(tool) == "Memcheck" })
	for first := true; ; first = false {
		line, ok := r.next()
		switch {
		case !ok:
			return open()
		case line == "}" && !leak:
			r.s.passed++
			return nil
		case line == "}":
			if !slices.ContainsFunc(one.frames, func(p framePattern) bool { return p.what != anyFrames }) {
				return fmt.Errorf("line %d: the entry names no frame: fun:PATTERN, obj:PATTERN or src:PATTERN expected", one.line)
			}
			return r.add(one)
		case !leak:
			continue
		}
		if list, ok := strings.CutPrefix(line, "match-leak-kinds:"); ok && first {
			var err error
			if one.kinds, err = r.leakKinds(list); err != nil {
				return err
			}
			continue
		}
		p, ok := parseFramePattern(line)
		if !ok {
			return r.expected(line, "fun:PATTERN, obj:PATTERN, src:PATTERN, ... or }")
		}
		if len(one.frames) == maxSuppressionFrames {
			return fmt.Errorf("line %d: more than %d frames in an entry", r.n, maxSuppressionFrames)
		}
		one.frames = append(one.frames, p)
	}
}

func (r *suppressionReader) leakKinds(list string) (LeakKind, error) {
	kinds := LeakKind(0)
	for word := range strings.SplitSeq(list, ",") {
		k, ok := leakKinds[strings.TrimSpace(word)]
		if !ok {
			return 0, r.expected(strings.TrimSpace(word), "definite, indirect, possible, reachable, all or none")
		}
		kinds |= k
	}
	return kinds, nil
}

func parseFramePattern(line string) (p framePattern, ok bool) {
	if line == "..." {
		return p, true
	}
	part, glob, _ := strings.Cut(line, ":")
	switch part {
	case "fun":
		p.what = frameFunction
		if at := clones().FindStringIndex(glob); at != nil {
			p.bare = glob[:at[0]]
		}
	case "obj":
		p.what = frameObject
	case "src":
		p.what = frameSource
		if at := strings.LastIndexByte(glob, ':'); at >= 0 {
			if n, err := strconv.ParseUint(glob[at+1:], 10, 31); err == nil && n > 0 {
				glob, p.line = glob[:at], int(n)
			}
		}
	}
	p.glob = glob
	return p, p.what != anyFrames && glob != ""
}

// frameNames are what valgrind could call a frame.
type frameNames struct {
	functions, objects, sources []string
	line                        int
}

// belowMain are functions of the C library that call main. Valgrind has one name for them.
var belowMain = []string{"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "generic_start_main"}

// Allocators in valgrind: it replaces them, so that stacks begin with them.
var (
	mallocs = []string{"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"}
	news    = []string{
		"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
		"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
		"_Znwj", "_Znaj", "_ZnwjRKSt9nothrow_t", "_ZnajRKSt9nothrow_t",
	}
	preload = []string{"/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"}

	someMalloc    = &frameNames{functions: mallocs, objects: preload}
	someAllocator = &frameNames{functions: slices.Concat(mallocs, news), objects: preload}
)

// allocates tells a frame of an allocator.
func (n *frameNames) allocates() bool {
	return slices.ContainsFunc(n.functions, func(f string) bool { return slices.Contains(someAllocator.functions, f) })
}

// valgrindNames are what valgrind could call the frame.
func (s *Suppressor) valgrindNames(i int) *frameNames {
	if n := s.frames[i]; n != nil {
		return n
	}
	f := &s.p.Frames[i]
	n := &frameNames{line: f.Line, objects: []string{s.p.ModulePath(f)}}
	name := f.Linkage
	if name == "" {
		name = f.Function
	}
	name, _, _ = strings.Cut(name, "@") // the version of a symbol
	switch {
	case f.Unnamed:
		n.functions = []string{"???"}
	case f.Inlined:
		n.functions = []string{name, bareName(f.Function)} // debug info has the name without its scope
	default:
		n.functions = []string{name}
	}
	if runtimeModules().MatchString(path.Base(n.objects[0])) {
		// Of several symbols of a function valgrind takes one without underscores.
		plain := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(name, "__GI_"), "__libc_"), "_")
		if !strings.HasPrefix(name, "_Z") && plain != name {
			n.functions = append(n.functions, plain)
		}
		if n.allocates() {
			n.objects = append(n.objects, preload...)
		}
	}
	n.functions = append(n.functions, structorVariants(name)...)
	if slices.Contains(belowMain, name) {
		n.functions = append(n.functions, "(below main)")
	}
	if f.File != "" {
		n.sources = []string{f.File, path.Base(f.File)}
	}
	s.frames[i] = n
	return n
}

// operatorName is the name of an operator of C++, whose signs are no brackets.
var operatorName = lazyregexp.New(`^operator(\(\)|[^\w\s(]+)`)

// bareName is the name of a function without its scope, arguments of templates and parameters.
func bareName(function string) string {
	from, to := 0, 0 // the part that a scope, or what it returns, is in front of
	depth := 0       // of brackets
	for i := range len(function) {
		if i == from && depth == 0 {
			if operator := operatorName().FindString(function[i:]); operator != "" {
				return operator
			}
		}
		switch c := function[i]; {
		case c == '<' || c == '(' || c == '{':
			depth++
		case c == '>' || c == ')' || c == '}':
			depth = max(depth-1, 0)
			if c == ')' && depth == 0 && to > from && !strings.HasPrefix(function[i+1:], "::") {
				return function[from:to] // parameters: const may follow
			}
		case depth > 0:
		case c == ':' || c == ' ' && function[from:i] != "operator":
			from, to = i+1, i+1
		default:
			to = i + 1
		}
	}
	return function[from:to]
}

// A stackView is a stack as valgrind could show it: the allocator, and its callers.
type stackView struct {
	allocator *frameNames // nil: it is the first of the frames
	frames    []*frameNames
}

// views are the stack as valgrind could show it. A recorded stack begins with the allocator or with
// its caller; in valgrind it begins with the function that it has replaced, which is malloc where C++'s
// operator new is linked into the program.
func (s *Suppressor) views(st *Stack) []stackView {
	frames := make([]*frameNames, len(st.Frames))
	for i, f := range st.Frames {
		frames[i] = s.valgrindNames(f)
	}
	ours := slices.IndexFunc(frames, func(n *frameNames) bool { return !n.allocates() })
	if ours < 0 {
		ours = len(frames)
	}
	if ours == 0 {
		return []stackView{{someAllocator, frames}}
	}
	all := []stackView{{someMalloc, frames}}
	for i := range ours {
		all = append(all, stackView{nil, frames[i:]})
	}
	return all
}

// fits reports whether the entry applies to the stack, shown in any of these ways.
func (s *suppression) fits(ways []stackView) bool {
	return slices.ContainsFunc(ways, func(v stackView) bool {
		if v.allocator == nil {
			return fitFrames(s.frames, v.frames)
		}
		return fitFrames(s.frames, slices.Concat([]*frameNames{v.allocator}, v.frames))
	})
}

// fitFrames reports whether the patterns fit the frames from the innermost on. Frames may be left.
func fitFrames(patterns []framePattern, frames []*frameNames) bool {
	at, p := 0, 0
	skip, from := -1, 0 // the last pattern of any frames, and where what follows it is tried
	for p < len(patterns) {
		switch {
		case patterns[p].what == anyFrames:
			skip, from = p, at
			p++
		case at < len(frames) && patterns[p].fits(frames[at]):
			at++
			p++
		case skip < 0 || from >= len(frames):
			return false
		default:
			from++
			at, p = from, skip+1
		}
	}
	return true
}

func (p *framePattern) fits(n *frameNames) bool {
	names := n.functions
	switch p.what {
	case frameObject:
		names = n.objects
	case frameSource:
		names = n.sources
		if p.line != 0 && p.line != n.line {
			return false
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return fitGlob(p.glob, name) || p.bare != "" && fitGlob(p.bare, name)
	})
}

// fitGlob reports whether the pattern is all of the name: * is any text, ? any one byte.
func fitGlob(glob, name string) bool {
	at, p := 0, 0
	skip, from := -1, 0
	for at < len(name) || p < len(glob) {
		switch {
		case p < len(glob) && glob[p] == '*':
			skip, from = p, at
			p++
		case p < len(glob) && at < len(name) && (glob[p] == '?' || glob[p] == name[at]):
			at++
			p++
		case skip < 0 || from >= len(name):
			return false
		default:
			from++
			at, p = from, skip+1
		}
	}
	return true
}
