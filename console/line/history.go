package line

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hdb/internal/outfile"
	"hdb/internal/regular"
)

// A History is the lines typed so far, oldest first, each at most once. A line
// that begins with a blank is not kept: so a secret need not be.
type History struct {
	Lines []string
	Path  string // "" keeps nothing on disk
	Limit int    // lines kept; 0 or less: none
}

// maxHistory bounds the file in bytes.
const maxHistory = 16 << 20

// Load reads the file; a missing one is an empty history.
func (h *History) Load() error {
	if h.Path == "" {
		return nil
	}
	b, err := regular.Read(h.Path, maxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		h.Add(strings.TrimRight(line, "\n"))
	}
	return nil
}

// Add keeps a typed line and reports whether the list changed.
func (h *History) Add(line string) bool {
	if h.Limit <= 0 || line == "" || line[0] == ' ' || strings.TrimSpace(line) == "" {
		return false
	}
	for i, old := range h.Lines {
		if old == line {
			h.Lines = append(h.Lines[:i], h.Lines[i+1:]...)
			break
		}
	}
	h.Lines = append(h.Lines, line)
	h.Trim()
	return true
}

// SetLimit changes how many lines are kept.
func (h *History) SetLimit(n int) {
	h.Limit = n
	h.Trim()
}

func (h *History) Trim() {
	if extra := len(h.Lines) - max(h.Limit, 0); extra > 0 {
		h.Lines = h.Lines[extra:]
	}
}

// Save replaces the file with what it holds now and the lines of this session,
// so that two consoles at once both keep theirs.
func (h *History) Save() error {
	if h.Path == "" || len(h.Lines) == 0 {
		return nil
	}
	if st, err := os.Stat(h.Path); err == nil && !st.Mode().IsRegular() {
		return nil // /dev/null, which must not be replaced
	}
	all := History{Path: h.Path, Limit: h.Limit}
	if err := all.Load(); err != nil {
		return err
	}
	for _, line := range h.Lines {
		all.Add(line)
	}
	return outfile.WritePrivate(h.Path, strings.Join(all.Lines, "\n")+"\n")
}
