package symbols

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"hdb/internal/procroot"
	"hdb/internal/rights"
)

// Sources finds and reads source files. The zero value looks only where debug
// information says. The fields must not change while other goroutines call Open;
// after a change call Forget.
type Sources struct {
	Substitute [][2]string // leading directories replaced: from, to; the first match counts
	Dirs       []string    // directories searched, in order
	Root       string      // of the process, where files are looked for before hdb's own are; "" none
	// User has the rights with which files are read that debug information names. What the user of hdb names, by Substitute
	// and Dirs, is read with hdb's own.
	User *rights.User

	mu    sync.Mutex
	cache map[string]sourceResult
	bytes int64
}

// SourceFile is a source file's text. It is shared and must not be changed.
type SourceFile struct {
	Path  string   // where it was found
	Lines []string // without line ends; Lines[0] is line 1
}

type sourceResult struct {
	file *SourceFile
	err  error
}

// SourceError is the error for a source file that was not found.
type SourceError struct {
	File  string   // as in debug information
	Tried []string // paths in the order they were looked at
	Cause error    // why the last one that exists was not used; nil when none exists
}

func (e *SourceError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.File, e.Cause)
	}
	others := slices.DeleteFunc(slices.Clone(e.Tried), func(path string) bool { return path == e.File })
	tried := ""
	if len(others) > 0 {
		tried = " (tried " + strings.Join(others, ", ") + ")"
	}
	return fmt.Sprintf("%s: no such file%s; use `set substitute-path FROM TO` or `directory DIR`", e.File, tried)
}

func (e *SourceError) Unwrap() error {
	if e.Cause != nil {
		return e.Cause
	}
	return fs.ErrNotExist
}

// Bounds of one file and of all that are kept.
const (
	maxSource  = 64 << 20
	maxSources = 256 << 20
)

// Open finds the source file that debug information calls file: its own path
// after substitution, then below each directory of Dirs with as many of its
// last components as match, as gdb does. The error is a *SourceError.
func (s *Sources) Open(file string) (*SourceFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.cache[file]; ok {
		return r.file, r.err
	}
	if s.cache == nil || s.bytes > maxSources {
		s.cache, s.bytes = map[string]sourceResult{}, 0
	}
	found, size, err := s.find(file)
	s.bytes += size
	s.cache[file] = sourceResult{found, err}
	return found, err
}

// Adopt reads path, with the rights of u, as the text of file, as Open does from now on until Forget.
func (s *Sources) Adopt(u *rights.User, file, path string) (*SourceFile, error) {
	found, size, err := readSource(u, path)
	if err != nil {
		return nil, &SourceError{File: file, Tried: []string{path}, Cause: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil {
		s.cache = map[string]sourceResult{}
	}
	s.bytes += size
	s.cache[file] = sourceResult{found, nil}
	return found, nil
}

// Search replaces Substitute and Dirs.
func (s *Sources) Search(substitute [][2]string, dirs []string) {
	s.Substitute, s.Dirs = substitute, dirs
	s.Forget()
}

// Forget drops what was read and what was not found: files may have changed.
func (s *Sources) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache, s.bytes = nil, 0
}

func (s *Sources) find(file string) (*SourceFile, int64, error) {
	failure := &SourceError{File: file}
	for _, c := range s.candidates(file) {
		found, size, err := readSource(c.user, c.path)
		if err == nil {
			return found, size, nil
		}
		failure.Tried = append(failure.Tried, c.path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // a leading component is a file
			failure.Cause = err
		}
	}
	return nil, 0, failure
}

// A candidate is a path and whose rights it is read with.
type candidate struct {
	path string
	user *rights.User
}

// candidates lists where a file may be, without repeats.
func (s *Sources) candidates(file string) []candidate {
	var list []candidate
	add := func(u *rights.User, p string) {
		if !slices.ContainsFunc(list, func(c candidate) bool { return c.path == p }) {
			list = append(list, candidate{p, u})
		}
	}
	if file == "" {
		return nil
	}
	own, inside := s.substitute(file)
	user := s.User
	if inside { // what the user of hdb substitutes is hdb's to see
		user = nil
	} else if s.Root != "" && own == file && filepath.IsAbs(file) {
		add(user, procroot.In(s.Root, file))
	}
	add(user, own)
	for _, dir := range s.Dirs {
		rest := strings.TrimPrefix(filepath.Clean(own), "/")
		for {
			add(nil, filepath.Join(dir, rest))
			_, tail, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = tail
		}
	}
	return list
}

// substitute applies the first rule whose directory leads file, and reports whether the path lies
// inside the directory that the rule names.
func (s *Sources) substitute(file string) (path string, inside bool) {
	for _, rule := range s.Substitute {
		from := strings.TrimSuffix(rule[0], "/")
		if rest, ok := strings.CutPrefix(file, from); ok && from != "" && (rest == "" || rest[0] == '/') {
			path = filepath.Join(rule[1], rest)
			return path, path == filepath.Join(rule[1], filepath.Clean("/"+rest))
		}
	}
	return file, false
}

func readSource(u *rights.User, path string) (*SourceFile, int64, error) {
	text, err := u.Read(path, maxSource)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > maxSource {
		return nil, 0, fmt.Errorf("%s: longer than the limit of %d MiB", path, maxSource>>20)
	}
	return &SourceFile{Path: path, Lines: splitLines(text)}, int64(len(text)), nil
}

// splitLines cuts text at its line ends, \n or \r\n.
func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	all := string(text)
	lines := make([]string, 0, bytes.Count(text, []byte{'\n'})+1)
	for line := range strings.Lines(all) {
		lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return lines
}
