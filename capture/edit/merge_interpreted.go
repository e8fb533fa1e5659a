package edit

import (
	"path/filepath"
	"slices"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// interpreted are the positions in interpreted programs of a merged capture, by their addresses. These are made
// of what a position is (capture.InterpretedAddress), so that processes share them.
type interpreted map[addr.Run]capture.Frame

// position is the address in the merged capture of a position that has the address pc in the recording f.
// Its function is kept. A position that the recording says nothing of has an address that is no other's.
func (all interpreted) position(f *file.File, pc addr.Run) addr.Run {
	chain, ok := f.Symbol(pc, true, 0)
	var at capture.Frame
	if ok && len(chain) > 0 {
		at = chain[0]
	}
	for n := 0; ; n++ { // another recording may have given the address to another position
		taken, known := all[pc]
		if !known {
			all[pc] = at
		}
		if !known || taken == at {
			return pc
		}
		pc = capture.InterpretedAddress(&at, n)
	}
}

// oneProgram reports whether two recordings are of the same program: by the name of its file or, where it was started by
// another link, by the file that the link leads to.
func oneProgram(a, b *file.File) bool {
	if a.Info().Arch != b.Info().Arch {
		return false
	}
	if filepath.Base(a.Info().Program) == filepath.Base(b.Info().Program) {
		return true
	}
	x, y := programFile(a), programFile(b)
	return x != nil && y != nil && x.BuildID == y.BuildID && (x.BuildID != "" || x.Path == y.Path)
}

// programFile is the file of the first program, nil if it is not known.
func programFile(f *file.File) *capture.Module {
	all := capture.Programs(f)
	i := slices.IndexFunc(all, func(m capture.Module) bool { return m.From <= 1 })
	if i < 0 {
		return nil
	}
	return &all[i]
}
