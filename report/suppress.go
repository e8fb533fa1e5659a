package report

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Suppressions name blocks that are not held against the user: by patterns of
// functions, source files and modules of their stacks.
type Suppressions struct {
	patterns []*regexp.Regexp
}

// runtimeOwned are functions of C's and Rust's libraries that keep what they allocate,
// for the next call or to the end: buffers of stdio, storage of threads, what was
// loaded, locales, conversions, messages, time zones, answers of name services, the
// stack on which Rust would tell of an overflow; and pymalloc's table of arenas.
const runtimeOwned = `
leak:^_IO_file_doallocate$
leak:^_IO_wfile_doallocate$
leak:^_dl_allocate_tls$
leak:^allocate_dtv$
leak:^_dl_new_object$
leak:^_dl_map_object
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
leak:std::sys::*stack_overflow::
leak:^arena_map_get$
`

// runtimeModules are the files of C and C++ runtimes. A stack through nothing else
// is of their own start: libstdc++ keeps memory for exceptions, for example.
var runtimeModules = regexp.MustCompile(`^(libc|ld|libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libm|libpthread|libdl)[-.]|^ld-(linux|musl)`)

// RuntimeSuppressions are those for what language runtimes keep.
func RuntimeSuppressions() *Suppressions {
	s, err := ParseSuppressions(strings.NewReader(runtimeOwned))
	if err != nil {
		panic(err) // the constant's
	}
	return s
}

const (
	maxSuppressions    = 10_000
	maxSuppressionLine = 4096 // bytes
)

// ParseSuppressions reads a file as LeakSanitizer has it: leak:PATTERN a line. A
// pattern occurs in the name of a function, of its source file or of its module;
// * is any text, ^ its beginning, $ its end. Lines that begin with # are comments.
func ParseSuppressions(r io.Reader) (*Suppressions, error) {
	s := &Suppressions{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSuppressionLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, ok := strings.CutPrefix(line, "leak:")
		if !ok || pattern == "" {
			return nil, fmt.Errorf("line %d: %q: leak:PATTERN expected", n, line)
		}
		if len(s.patterns) == maxSuppressions {
			return nil, fmt.Errorf("line %d: more than %d patterns", n, maxSuppressions)
		}
		if !utf8.ValidString(pattern) {
			return nil, fmt.Errorf("line %d: %q: not UTF-8", n, pattern)
		}
		s.patterns = append(s.patterns, suppressionPattern(pattern))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return s, nil
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

// A suppressor applies suppressions to a profile's stacks.
type suppressor struct {
	p     *Profile
	all   []*Suppressions
	known map[int]bool // by frame: a pattern fits
}

func newSuppressor(p *Profile, all ...*Suppressions) *suppressor {
	return &suppressor{p: p, all: all, known: map[int]bool{}}
}

// hides tells stacks that a pattern fits.
func (s *suppressor) hides(st *Stack) bool {
	for _, f := range st.Frames {
		hit, ok := s.known[f]
		if !ok {
			hit = s.frame(&s.p.Frames[f])
			s.known[f] = hit
		}
		if hit {
			return true
		}
	}
	return false
}

func (s *suppressor) frame(f *Frame) bool {
	module := s.p.ModulePath(f)
	for _, all := range s.all {
		if all == nil {
			continue
		}
		for _, p := range all.patterns {
			if p.MatchString(f.Function) || f.Linkage != "" && p.MatchString(f.Linkage) || f.File != "" && p.MatchString(f.File) || module != "" && p.MatchString(module) {
				return true
			}
		}
	}
	return false
}

// RuntimeOwned tells the stacks whose blocks language runtimes keep for themselves.
func (p *Profile) RuntimeOwned() func(*Stack) bool {
	known := newSuppressor(p, RuntimeSuppressions())
	return func(st *Stack) bool { return p.runtimeStack(st) || known.hides(st) }
}

// runtimeStack tells stacks that lead through nothing but the C and C++ runtimes.
func (p *Profile) runtimeStack(st *Stack) bool {
	for _, f := range st.Frames {
		m := p.Frames[f].Module
		if m < 0 || m >= len(p.Modules) || !runtimeModules.MatchString(path.Base(p.Modules[m].Path)) {
			return false
		}
	}
	return len(st.Frames) > 0 && st.Truncated == ""
}
