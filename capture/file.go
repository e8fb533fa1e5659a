package capture

import "errors"

// A File is a saved capture.
type File struct{ Source }

// Open opens a capture.
func Open(path string) (*File, error) { return nil, errors.New("open: not yet") }

// Close releases the file.
func (f *File) Close() error { return nil }
