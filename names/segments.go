package names

import (
	"hdb/internal/addr"
	"hdb/symbols"
)

// codePage is the size of pages on x86-64.
const codePage = 4096

// A CodeSegment is code of a module as it is mapped, and its offset in the file.
type CodeSegment struct {
	Low, High addr.Run
	Offset    uint64
}

// CodeSegments are the code of module i of the recording, which was mapped between low and
// high with that bias; ok is false if its file is not here.
func (r *Resolver) CodeSegments(i int, low, high addr.Run, bias addr.Bias) (segments []CodeSegment, ok bool) {
	obj := r.recordedFile(i, low, high)
	if obj == nil {
		return nil, false
	}
	for _, seg := range obj.File.Segments() {
		if !seg.Exec || seg.Memsz == 0 {
			continue
		}
		// As the kernel maps it: whole pages.
		skip := uint64(seg.Addr) % codePage
		low := seg.Addr.Run(bias) - addr.Run(skip)
		size := (seg.Memsz + skip + codePage - 1) &^ (codePage - 1)
		segments = append(segments, CodeSegment{Low: low, High: low + addr.Run(size), Offset: seg.Off - min(skip, seg.Off)})
	}
	return segments, true
}

// recordedFile is the file of module i of the recording, nil if it is not here.
func (r *Resolver) recordedFile(i int, low, high addr.Run) *symbols.Object {
	if r.opened != nil {
		return r.opened.file(i).obj
	}
	for _, mod := range r.Modules.list {
		if mod.Low == low && mod.High == high {
			obj, _ := r.Modules.Object(mod)
			return obj
		}
	}
	return nil
}
