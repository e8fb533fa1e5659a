package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"hdb/internal/lazyregexp"
	"hdb/internal/modkind"
)

// Suppressions name blocks that are not held against the user: by patterns of
// functions, source files and modules of their stacks.
type Suppressions struct {
	all    []suppression // in the order of the file
	passed int           // entries of valgrind's that are for other errors than leaks
}

// A suppression is one of them: a pattern of LeakSanitizer's, or an entry of valgrind's.
type suppression struct {
	name   string // as in the file
	line   int    // of the file: where it begins
	kinds  LeakKind
	expr   *regexp.Regexp // of LeakSanitizer's: fits one frame of the stack
	frames []framePattern // of valgrind's: fit the stack from the innermost frame on
}

// LeakKind are ways in which blocks are held, as a set.
type LeakKind uint8

// The ways, in memcheck's words.
const (
	LeakDefinite LeakKind = 1 << iota
	LeakIndirect
	LeakPossible
	LeakReachable

	LeakAny = LeakDefinite | LeakIndirect | LeakPossible | LeakReachable // it is not known which
)

// runtimeOwned are functions of C's and Rust's libraries that keep what they allocate, for the next call or
// to the end: buffers of stdio, storage of threads, what was loaded, locales, conversions, messages, time
// zones, answers of name services, the stack on which Rust would describe an overflow; and pymalloc's table
// of arenas. In a static program no module tells the start of glibc's dynamic linker, nor the constructor by
// which libstdc++ keeps memory for exceptions: their functions do. libc++ keeps what a thread has thrown.
const runtimeOwned = `
leak:^_IO_file_doallocate$
leak:^_IO_wfile_doallocate$
leak:^_dl_allocate_tls$
leak:^allocate_dtv$
leak:^_dl_new_object$
leak:^_dl_map_object
leak:^_dl_non_dynamic_init$
leak:^__new_exitfn$
leak:^__cxa_thread_atexit_impl$
leak:^_nl_expand_alias$
leak:^_nl_find_
leak:^_nl_load_
leak:^_nl_make_l10nflist$
leak:^setlocale$
leak:^__gconv_
leak:^__wcsmbs_load_conv$
leak:^bindtextdomain$
leak:^textdomain$
leak:^tzset_internal$
leak:^__tzfile_read$
leak:^__nss_
leak:^getpwuid$
leak:^getpwnam$
leak:^getgrgid$
leak:^getgrnam$
leak:^gethostby
leak:^getservby
leak:^_GLOBAL__sub_I_eh_alloc.cc
leak:^__cxa_get_globals$
leak:std::sys::*stack_overflow::
leak:^arena_map_get$
`

// runtimeModules are the files of C and C++ runtimes. A stack through nothing else
// is of their own start: libstdc++ keeps memory for exceptions, for example.
var runtimeModules = lazyregexp.New(`^(libc|ld|libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libm|libpthread|libdl)[-.]|^ld-(linux|musl)`)

// RuntimeSuppressions are those for what language runtimes keep.
func RuntimeSuppressions() *Suppressions {
	s, err := ParseSuppressions(strings.NewReader(runtimeOwned))
	if err != nil {
		panic(err) // the constant's
	}
	return s
}

const (
	maxSuppressions      = 10_000
	maxSuppressionLine   = 4096 // bytes
	maxSuppressionFrames = 500  // of an entry: no stack of valgrind's is deeper
)

// A suppressionReader reads the lines of a file of suppressions.
type suppressionReader struct {
	lines *bufio.Scanner
	n     int // of the line that was read last
	s     *Suppressions
}

// ParseSuppressions reads a file in LeakSanitizer's form, in valgrind's, or with lines of both.
// LeakSanitizer's are leak:PATTERN a line. A pattern occurs in the name of a function, of its source
// file or of its module; * is any text, ^ its beginning, $ its end. Valgrind's are entries in
// braces, see entry. Lines that begin with # are comments.
func ParseSuppressions(r io.Reader) (*Suppressions, error) {
	in := suppressionReader{lines: bufio.NewScanner(r), s: &Suppressions{}}
	in.lines.Buffer(nil, maxSuppressionLine)
	for {
		line, ok := in.next()
		if !ok {
			break
		}
		if err := in.suppression(line); err != nil {
			return nil, err
		}
	}
	if err := in.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", in.n+1, maxSuppressionLine)
	} else if err != nil {
		return nil, err
	}
	return in.s, nil
}

// next is the next line that is neither empty nor a comment.
func (r *suppressionReader) next() (string, bool) {
	for r.lines.Scan() {
		r.n++
		if line := strings.TrimSpace(r.lines.Text()); line != "" && line[0] != '#' {
			return line, true
		}
	}
	return "", false
}

// suppression reads what begins with the line.
func (r *suppressionReader) suppression(line string) error {
	if line == "{" {
		return r.entry()
	}
	pattern, ok := strings.CutPrefix(line, "leak:")
	if !ok || pattern == "" {
		return r.expected(line, "leak:PATTERN, or { of an entry of valgrind's,")
	}
	if !utf8.ValidString(pattern) {
		return fmt.Errorf("line %d: %q: not UTF-8", r.n, pattern)
	}
	return r.add(suppression{name: pattern, line: r.n, kinds: LeakAny, expr: suppressionPattern(pattern)})
}

func (r *suppressionReader) expected(line, what string) error {
	return fmt.Errorf("line %d: %q: %s expected", r.n, line, what)
}

func (r *suppressionReader) add(one suppression) error {
	if len(r.s.all) == maxSuppressions {
		return fmt.Errorf("line %d: more than %d patterns", one.line, maxSuppressions)
	}
	r.s.all = append(r.s.all, one)
	return nil
}

// suppressionPattern is the pattern, which is UTF-8, as a regular expression.
func suppressionPattern(pattern string) *regexp.Regexp {
	pattern, begins := strings.CutPrefix(pattern, "^")
	pattern, ends := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	expr := strings.Join(parts, ".*")
	if begins {
		expr = "^" + expr
	}
	if ends {
		expr += "$"
	}
	return regexp.MustCompile("(?s)" + expr)
}

// A Suppressor applies suppressions to a profile's stacks.
type Suppressor struct {
	p      *Profile
	s      *Suppressions
	known  map[int]int         // by frame: the first of LeakSanitizer's patterns that fits, -1 none
	frames map[int]*frameNames // of valgrind's
}

// Suppressor is for the stacks of the profile. Suppressions may be nil.
func (p *Profile) Suppressor(s *Suppressions) *Suppressor {
	if s == nil {
		s = &Suppressions{}
	}
	return &Suppressor{p: p, s: s, known: map[int]int{}, frames: map[int]*frameNames{}}
}

// Find is the index of the first suppression that fits a stack whose blocks are held in this way,
// -1 if none does.
func (s *Suppressor) Find(st *Stack, how LeakKind) int {
	best := -1
	for _, f := range st.Frames {
		hit, ok := s.known[f]
		if !ok {
			hit = s.frame(&s.p.Frames[f])
			s.known[f] = hit
		}
		if hit >= 0 && (best < 0 || hit < best) {
			best = hit
		}
	}
	var ways []stackView
	for i := range s.s.all {
		one := &s.s.all[i]
		if i == best {
			break
		}
		if one.frames == nil || one.kinds&how == 0 {
			continue
		}
		if ways == nil {
			ways = s.views(st)
		}
		if one.fits(ways) {
			return i
		}
	}
	return best
}

// frame is the first of LeakSanitizer's patterns that fits the frame, -1 if none does.
func (s *Suppressor) frame(f *Frame) int {
	module := s.p.ModulePath(f)
	for i := range s.s.all {
		p := s.s.all[i].expr
		if p == nil {
			continue
		}
		if p.MatchString(f.Function) || f.Linkage != "" && p.MatchString(f.Linkage) || f.File != "" && p.MatchString(f.File) || module != "" && p.MatchString(module) {
			return i
		}
	}
	return -1
}

// RuntimeModule reports whether a file is of the C or C++ runtime.
func RuntimeModule(name string) bool { return runtimeModules().MatchString(path.Base(name)) }

// RuntimeFunction reports whether RuntimeSuppressions name a function.
func RuntimeFunction(name string) bool {
	return slices.ContainsFunc(runtimeOwnedOnce().all, func(s suppression) bool { return s.expr != nil && s.expr.MatchString(name) })
}

var runtimeOwnedOnce = sync.OnceValue(RuntimeSuppressions)

// RuntimeOwned tells the stacks whose blocks language runtimes keep for themselves.
func (p *Profile) RuntimeOwned() func(*Stack) bool {
	known := p.Suppressor(RuntimeSuppressions())
	return func(st *Stack) bool { return p.runtimeStack(st) || known.Find(st, LeakAny) >= 0 }
}

// runtimeStack tells stacks that lead through nothing but the C and C++ runtimes, and those of the dynamic linker's own
// allocations: what dlopen keeps is freed by dlclose, or never.
func (p *Profile) runtimeStack(st *Stack) bool {
	if len(st.Frames) > 0 {
		if file := p.ModulePath(&p.Frames[st.Frames[0]]); modkind.IsDynamicLinker(file) && !modkind.IsMusl(file) {
			return true
		}
	}
	for _, f := range st.Frames {
		m := p.Frames[f].Module
		if m < 0 || m >= len(p.Modules) || !RuntimeModule(p.Modules[m].Path) {
			return false
		}
	}
	return len(st.Frames) > 0 && st.Truncated == ""
}
