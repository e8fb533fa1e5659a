package file

import (
	"bytes"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
)

// TestOccupy has modules come to the same addresses in turns: equal stacks are those of the module that is there,
// whether they are whole or not, also after the recording moved from a log to a file.
func TestOccupy(t *testing.T) {
	stacks := []capture.Stack{
		{PCs: []addr.Run{0x7000, 0x1000}},
		{PCs: []addr.Run{0x2000, 0x7000, 0x1000}},
		{PCs: []addr.Run{0x7fff, 0x1000}, Truncated: "depth limit 2"},
		{PCs: []addr.Run{0x8000, 0x1000}},
		{PCs: []addr.Run{0x8001, 0x1000}}, // outside
		{PCs: []addr.Run{0x1000}},
	}
	const shared = 2 // the last ones, of all modules
	log := NewLog(capture.Info{})
	w, err := NewWriter(new(bytes.Buffer), capture.Info{})
	if err != nil {
		t.Fatal(err)
	}
	var first [3][]capture.StackID // by module
	for turn := range 12 {
		var out capture.Recorder = log
		if turn >= 6 {
			out = w
		}
		if turn == 6 {
			w.Adopt(log)
		}
		module := turn % 3
		if turn > 0 {
			out.Occupy(0x7000, 0x8000, uint32(module))
		}
		for i, s := range stacks {
			id := out.Intern(s)
			if turn < 3 {
				first[module] = append(first[module], id)
			}
			if id != first[module][i] {
				t.Errorf("turn %d: stack %d has ID %d, before %d", turn, i, id, first[module][i])
			}
			if outside := i >= len(stacks)-shared; module > 0 && (id == first[0][i]) != outside {
				t.Errorf("turn %d: stack %d has ID %d, of the first module %d", turn, i, id, first[0][i])
			}
		}
	}
	if n := 3*(len(stacks)-shared) + shared; log.Stacks() != n || w.Stacks() != n {
		t.Errorf("%d and %d stacks, want %d", log.Stacks(), w.Stacks(), n)
	}
	if id := w.AddStack(stacks[0]); int(id) != w.Stacks() || w.Intern(stacks[0]) != id {
		t.Errorf("the stack added has ID %d of %d", id, w.Stacks())
	}
}
