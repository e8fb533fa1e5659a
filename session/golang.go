package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/heap"
)

// hasGo tells whether a Go runtime allocated what the recording does not count: an
// older hdb did not note it.
func hasGo(src capture.Source) bool {
	return src.Info().Partial.Has(capture.GoHeap) || slices.ContainsFunc(src.Functions(), func(name string) bool {
		fn, ok := breakpoints.Named(name)
		return ok && fn.Group == breakpoints.GroupGo
	})
}

// errGo is why nothing is said of the blocks of a Go program.
var errGo = errors.New("what the Go runtime allocates is not counted yet, and there is nothing else")

// goError is that of a recording.
func goError(src capture.Source) error {
	return fmt.Errorf("%s is a Go program: %w", filepath.Base(src.Info().Program), errGo)
}

// countedSums is recordedSums for questions about blocks, an error if there are only
// those of a Go runtime.
func (s *Session) countedSums() (capture.Source, *heap.Index, error) {
	src, x, err := s.recordedSums()
	if err != nil || !hasGo(src) {
		return src, x, err
	}
	for _, f := range x.Totals(heap.End).Flows {
		if f.Allocs > 0 {
			return src, x, nil // of C code
		}
	}
	return nil, nil, goError(src)
}

// countedEvents is countedSums where there are events.
func (s *Session) countedEvents() (capture.Source, *heap.Index, error) {
	if _, _, err := s.recordedEvents(); err != nil {
		return nil, nil, err
	}
	return s.countedSums()
}
