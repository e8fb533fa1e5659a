package console

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hdb/internal/regular"
)

// history is the lines typed so far, oldest first, each at most once. A line
// that begins with a blank is not kept, so that nothing secret need be.
type history struct {
	lines []string
	path  string // "" keeps nothing on disk
	limit int    // lines kept; 0 or less: none
}

// maxHistory bounds the file in bytes.
const maxHistory = 16 << 20

// historyPath is $HDB_HISTFILE, or hdb/history under $XDG_STATE_HOME.
func historyPath(getenv func(string) string) string {
	if p := getenv("HDB_HISTFILE"); p != "" {
		return p
	}
	return xdgPath(getenv, "XDG_STATE_HOME", ".local/state", "history")
}

// xdgPath is a file of hdb's under an XDG base directory, "" without a home.
// (XDG Base Directory Specification 0.8: a relative value is ignored.)
func xdgPath(getenv func(string) string, variable, fallback, name string) string {
	dir := getenv(variable)
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, fallback)
	}
	return filepath.Join(dir, "hdb", name)
}

// load reads the file; a missing one is an empty history.
func (h *history) load() error {
	if h.path == "" {
		return nil
	}
	b, err := regular.Read(h.path, maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		h.add(strings.TrimRight(line, "\n"))
	}
	return nil
}

// add keeps a typed line and reports whether the list changed.
func (h *history) add(line string) bool {
	if h.limit <= 0 || line == "" || line[0] == ' ' || strings.TrimSpace(line) == "" {
		return false
	}
	for i, old := range h.lines {
		if old == line {
			h.lines = append(h.lines[:i], h.lines[i+1:]...)
			break
		}
	}
	h.lines = append(h.lines, line)
	h.trim()
	return true
}

func (h *history) trim() {
	if extra := len(h.lines) - max(h.limit, 0); extra > 0 {
		h.lines = h.lines[extra:]
	}
}

// save replaces the file with what it holds now and the lines of this session,
// so that two consoles at once both keep theirs.
func (h *history) save() error {
	if h.path == "" || len(h.lines) == 0 {
		return nil
	}
	if st, err := os.Stat(h.path); err == nil && !st.Mode().IsRegular() {
		return nil // /dev/null, which must not be replaced
	}
	all := history{path: h.path, limit: h.limit}
	if err := all.load(); err != nil {
		return err
	}
	for _, line := range h.lines {
		all.add(line)
	}
	return writeFile(h.path, strings.Join(all.lines, "\n")+"\n")
}

// writeFile replaces a private file of hdb's in one step.
func writeFile(path, content string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
