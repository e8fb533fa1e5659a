package stepping

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/cond"
	"hdb/query"
)

// A Skip is functions that step does not enter.
type Skip struct {
	ID       int
	Function string // a name, in which * represents any text; "" any
	File     string // a path or its end, in which * represents any text; "" any
	Enabled  bool
}

// Skips are the functions and files that step passes over.
type Skips struct {
	list []*Skip
	last int
}

// Add makes one of a function, a file or both.
func (s *Skips) Add(function, file string) (*Skip, error) {
	if function == "" && file == "" {
		return nil, errors.New("skip: a function or a file must be given")
	}
	s.last++
	skip := &Skip{ID: s.last, Function: function, File: file, Enabled: true}
	s.list = append(s.list, skip)
	return skip, nil
}

// All are the skips by number.
func (s *Skips) All() []*Skip { return s.list }

// Delete removes one by its number, 0 all of them.
func (s *Skips) Delete(id int) error {
	return s.change(id, func(x *Skip) { s.list = slices.DeleteFunc(s.list, func(y *Skip) bool { return x == y }) })
}

// Enable makes one hold again, or not; 0 is all of them.
func (s *Skips) Enable(id int, on bool) error { return s.change(id, func(x *Skip) { x.Enabled = on }) }

func (s *Skips) change(id int, do func(*Skip)) error {
	found := id == 0
	for _, x := range slices.Clone(s.list) {
		if id == 0 || x.ID == id {
			found = true
			do(x)
		}
	}
	if !found {
		return fmt.Errorf("no skip %d: see info skip", id)
	}
	return nil
}

// passes reports whether step does not enter a function.
func (s *Skips) passes(function, linkage, file string) bool {
	return slices.ContainsFunc(s.list, func(x *Skip) bool {
		return x.Enabled && (x.Function == "" || query.MatchFunction(x.Function, function, linkage)) && (x.File == "" || matchFile(x.File, file))
	})
}

// matchFile compares a file with a path, or with the end of one.
func matchFile(pattern, file string) bool {
	if file == "" {
		return false
	}
	return cond.Match(pattern, file) || !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, "*") && cond.Match("*/"+pattern, file)
}
