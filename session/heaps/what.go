package heaps

import (
	"fmt"
	"path/filepath"

	"hdb/heap/glibc"
	"hdb/heap/regions"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
)

// A What tells what an address is. What is not known, or not so, is nil or zero.
type What struct {
	Addr         addr.Run
	Region       *regions.Region // that it is in, of a process
	Below, Above *regions.Region // the nearest ones where nothing is mapped
	Unmapped     bool            // nothing is

	Symbol *names.SymbolInfo  // the function or variable there
	Place  names.Place        // the source line of code
	Local  *ThreadVariable    // of thread-local storage
	Frame  *StackPlace        // on a stack
	Chunk  *glibc.Chunk       // of glibc's malloc
	Slot   *RegionAnswer      // of jemalloc
	Block  *memory.Block      // that the program holds
	Whence *query.Whence      // what the recording has about it
	About  []*recording.Event // the last events about blocks that held it, oldest first
}

// A ThreadVariable is a place in thread-local storage.
type ThreadVariable struct {
	TID    int
	Module string
	Name   string // of the variable, "" not known
	Offset uint64 // in it, or in the module's storage
}

// A StackPlace is a place on a stack.
type StackPlace struct {
	Thread   int         // hdb's number
	Frame    names.Frame // that has it; without a name if it is not in the used part
	Variable string      // that has it, "" none that is known
	Offset   uint64      // in the variable
	Below    uint64      // bytes below the stack pointer: nothing is there any more
}

// What tells what is known of an address: of a process or core file by what its memory is, with
// a recording, also of a capture, by the blocks that were recorded.
func (h *Heap) What(a addr.Run) (*What, error) {
	w := &What{Addr: a}
	if err := h.recordedWhat(w); err != nil && h.target.Recalled() {
		return nil, err
	}
	if sym, err := h.target.Names.Symbols.At(a); err == nil {
		w.Symbol = &sym
	}
	if h.target.Recalled() {
		w.Place = h.target.Names.Places.At(a)
		return w, nil
	}
	image, err := h.Image()
	if err != nil {
		return nil, err
	}
	space := image.Space()
	if w.Region = space.At(a); w.Region == nil {
		w.Below, w.Above = space.Around(a)
		w.Symbol, w.Unmapped = nil, true
		return w, nil
	}
	w.Local = h.places.threadLocal(space, a)
	switch w.Region.Kind {
	case regions.Code:
		w.Place = h.target.Names.Places.At(a)
	case regions.Stack, regions.SignalStack, regions.StackUnused, regions.Heap, regions.Anonymous, regions.Shared:
		if w.Region.TID != 0 {
			w.Frame = h.onStack(w.Region, a)
		}
	}
	if i, ok := image.Find(uint64(a)); ok {
		b := image.Block(i)
		w.Block = &b
	}
	if heap, err := image.Heap(); err == nil {
		if c, ok := heap.Find(a); ok {
			w.Chunk = &c
		}
	}
	w.Slot = h.region(image, uint64(a))
	return w, nil
}

// recordedWhat adds what is recorded.
func (h *Heap) recordedWhat(w *What) error {
	r, err := h.queries.BlockEvents()
	if err != nil {
		return err
	}
	w.Whence = r.Whence(uint64(w.Addr))
	if w.Whence.Event == nil {
		w.About, _, _ = r.History(uint64(w.Addr), 2)
	}
	return nil
}

// onStack is the place on the stack of the region's thread.
func (h *Heap) onStack(r *regions.Region, a addr.Run) *StackPlace {
	t := h.target.Image.Thread(r.TID)
	if t == nil {
		return nil
	}
	p := &StackPlace{Thread: t.Num}
	if r.Kind == regions.StackUnused {
		// Measured from the used part, which a red zone is before.
		if used := h.image.Space().At(r.End); used != nil && used.TID == r.TID && used.Start == r.End {
			p.Below = uint64(r.End-a) + addr.RedZone
		}
		return p
	}
	frame, v, off := h.places.placeOnStack(t, r, a)
	if frame != nil {
		p.Frame = *frame
	}
	if v != nil {
		p.Variable, p.Offset = v.Name, off
	}
	return p
}

// String says where in thread-local storage it is.
func (v *ThreadVariable) String() string {
	if v.Name == "" {
		return fmt.Sprintf("byte %d of the thread-local storage of %s", v.Offset, filepath.Base(v.Module))
	}
	if v.Offset == 0 {
		return v.Name
	}
	return fmt.Sprintf("%s+%d", v.Name, v.Offset)
}
