package edit

import (
	"io"
	"math"

	"hdb/capture/file"
	"hdb/internal/outfile"
)

// Compact makes a whole capture of the file path, whose recorder dropped old
// events and has closed it. What was allocated by those is unknown in it, as after
// Trim. The file is replaced when all is written.
func Compact(path string) (Copied, error) {
	f, err := file.OpenByIndex(path) // the holes are no damage
	if err != nil {
		return Copied{}, err
	}
	defer f.Close()
	var made Copied
	err = outfile.File{Path: path, Force: true}.Write(func(w io.Writer) (err error) {
		made, err = CompactTo(w, f)
		return err
	})
	return made, err
}

// CompactTo writes a whole capture of one that has lost its first events.
func CompactTo(w io.Writer, f *file.File) (Copied, error) {
	first, _, _, _ := f.Span()
	return copyPart(w, f, f, first, math.MaxUint64)
}
