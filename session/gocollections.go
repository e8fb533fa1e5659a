package session

import (
	"hdb/inferior"
	"hdb/session/collect"
	"hdb/session/stopped"
)

// GoCollections has a Go program collect its garbage, and reports what stops it meanwhile.
type GoCollections struct {
	*collect.Collections
	exec *Execution
}

// Collect is collect.Collections.Collect with a report of the stop.
func (g *GoCollections) Collect() (*collect.Collected, *stopped.Report, error) {
	got, stop, err := g.Collections.Collect()
	if stop == nil {
		return got, nil, err
	}
	return nil, g.exec.Report(*stop, "gc"), err
}

// passing runs the program for a collection.
type passing struct{ exec *Execution }

// Placed reports whether the program stands where a stop or a step has brought it, not at any place.
func (p passing) Placed() bool { return p.exec.placed }

// RunPast runs until something other than a numbered stop stops the program.
func (p passing) RunPast() (inferior.Stop, error) {
	p.exec.demand.passing = true
	defer func() { p.exec.demand.passing = false }()
	_, stop, err := p.exec.RunToTargets(nil)
	return stop, err
}

// HitAny reports whether that stop is one that the user asked for, all the same.
func (p passing) HitAny() bool { return len(p.exec.demand.hits) > 0 }
