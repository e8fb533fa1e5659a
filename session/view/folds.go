package view

import (
	"hdb/names"
	"hdb/session/target"
)

// Folds says what is shown of the stacks of blocks.
type Folds struct{ target *target.Target }

// NewFolds are those of a process, core file or capture.
func NewFolds(t *target.Target) Folds { return Folds{t} }

// Of is what to show: the frames from user on, which is the one that the block belongs to, without the outermost ones, which
// only lead to the user's code, of names these, and without runs of libraries' frames between.
func (f Folds) Of(frames []names.Frame) (user, outer int, of string, between [][2]int) {
	user = min(f.target.Attribution.Owner(frames), len(frames))
	outer, of = f.target.Attribution.Outer(frames, user)
	return user, outer, of, f.target.Attribution.Between(frames, user, len(frames)-outer)
}
