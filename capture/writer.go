package capture

import (
	"errors"
	"io"
)

// A Writer appends a recording to w.
type Writer struct{ w io.Writer }

// NewWriter writes the file's header and info.
func NewWriter(w io.Writer, info Info) (*Writer, error) { return &Writer{w}, nil }

// Save writes src to path atomically.
func Save(path string, src Source, sym Embedder) error { return errors.New("save: not yet") }
