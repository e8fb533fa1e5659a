package names

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hdb/capture"
	"hdb/symbols"
	"hdb/symbols/debuginfod"
)

// SourceText is a source file, or the parts of it that a capture kept.
type SourceText struct {
	Path  string
	lines []string
	kept  []capture.Excerpt
	// Changed: the file is here, but not as it was when the capture kept these lines.
	Changed bool
}

// agree reports whether the lines that a capture kept are those of the file.
func agree(lines []string, kept []capture.Excerpt) bool {
	for _, x := range kept {
		if x.First < 1 || x.First-1+len(x.Lines) > len(lines) || !slices.Equal(lines[x.First-1:][:len(x.Lines)], x.Lines) {
			return false
		}
	}
	return true
}

// Line is line n, counted from 1; ok is false when it is not there.
func (t *SourceText) Line(n int) (text string, ok bool) {
	if t.kept != nil {
		return capture.Line(t.kept, n)
	}
	if n < 1 || n > len(t.lines) {
		return "", false
	}
	return t.lines[n-1], true
}

// Last is the number of the last line.
func (t *SourceText) Last() int {
	if n := len(t.kept); n > 0 {
		return t.kept[n-1].First + len(t.kept[n-1].Lines) - 1
	}
	return len(t.lines)
}

// Newer reports whether the source file was changed after everything that is loaded was built: then
// its lines are not those that the program was built from.
func (r *Resolver) Newer(src *SourceText) bool {
	if r.opened != nil || !src.Whole() {
		return false
	}
	st, err := os.Stat(src.Path)
	if err != nil {
		return false
	}
	var built time.Time
	for _, m := range r.Images() {
		if f, err := os.Stat(m.Path); err == nil && f.ModTime().After(built) {
			built = f.ModTime()
		}
	}
	return !built.IsZero() && st.ModTime().After(built)
}

// Whole tells a file from excerpts of one.
func (t *SourceText) Whole() bool { return t.kept == nil }

// Source is the text of a source file: from the file system, or what the capture
// kept of it. The error says what was tried.
func (r *Resolver) Source(file string) (*SourceText, error) {
	src, err := r.Sources.Open(file)
	var kept []capture.Excerpt
	if r.opened != nil {
		kept = r.opened.SourceLines(file)
	}
	if err == nil && agree(src.Lines, kept) {
		return &SourceText{Path: src.Path, lines: src.Lines}, nil
	}
	if err != nil {
		if src, fetchErr := r.fetchSource(file); src != nil && agree(src.Lines, kept) {
			return &SourceText{Path: src.Path, lines: src.Lines}, nil
		} else if fetchErr != nil {
			err = fmt.Errorf("%w; %w", err, fetchErr)
		}
	}
	if len(kept) > 0 {
		return &SourceText{Path: file, kept: kept, Changed: err == nil}, nil
	}
	if r.opened != nil {
		return nil, fmt.Errorf("%w; the capture has no lines of it", err)
	}
	return nil, err
}

// sourceName is the absolute name that servers have a source file by. Names of debug
// information are joined with the directory of the compiler; where that is relative or
// empty, what comes after the slash is all there is (debuginfod(8), "source").
func sourceName(file string) string { return filepath.Join("/", file) }

// fetchSource finds the text of a source file on a server, by the build IDs of the modules that
// were made from it. The error is nil when there is no server to ask.
func (r *Resolver) fetchSource(file string) (*symbols.SourceFile, error) {
	if r.Debuginfod.Mode() == DebuginfodOff {
		return nil, nil
	}
	asked := sourceName(file)
	var last error
	for _, m := range r.Images() {
		id := m.Object.File.BuildID()
		if id == "" || !slices.Contains(m.Object.Lines.Files(), file) {
			continue
		}
		kept, err := r.Debuginfod.source(id, asked)
		if err == nil {
			return r.Sources.Adopt(nil, file, kept)
		}
		last = err
		if !errors.Is(err, debuginfod.ErrNotFound) {
			break
		}
	}
	return nil, last
}
