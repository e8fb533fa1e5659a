package symbols

import (
	"debug/gosym"
	"encoding/binary"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"
)

// foreignImage is memory at address 0.
type foreignImage []byte

func (m foreignImage) ReadAddr(b []byte, a addr.File) bool {
	return uint64(a) <= uint64(len(m)) && copy(b, m[a:]) == len(b)
}

// goFixture is a table with one function at 0x1000: main.f, into which main.g is inlined at
// 0x1004 to 0x1010, and main.h into that at 0x1008.
func goFixture() (data, tree []byte) {
	le := binary.LittleEndian
	data = make([]byte, pclnHeader)
	le.PutUint32(data, goMagic120)
	data[6], data[7] = 1, 8
	le.PutUint64(data[8:], 1)
	part := func(at int, b []byte) {
		le.PutUint64(data[at:], uint64(len(data)))
		data = append(data, b...)
	}
	part(32, []byte("\x00main.f\x00main.g\x00main.h\x00"))
	part(40, make([]byte, 4))
	part(48, []byte("dir/f.go\x00"))
	part(56, []byte{0, // none at offset 0
		0, 4, // -1 to 0x1004
		2, 4, // 0 to 0x1008
		2, 4, // 1 to 0x100c
		1, 4, // 0 to 0x1010
		1, 0x10, // -1 to 0x1020
		0,
		2, 0x20, 0, // file 0 to 0x1020
		4, 8, 2, 0x18, 0}) // line 1 to 0x1008, 2 to 0x1020
	var funcs []byte
	for _, v := range []uint32{0, 16, 0x20, 0} { // entry, where its function is; the end
		funcs = le.AppendUint32(funcs, v)
	}
	fn := make([]byte, goForm120.header)
	le.PutUint32(fn[goFuncName:], 1)
	le.PutUint32(fn[goFileTable:], 12)
	le.PutUint32(fn[goLineTable:], 15)
	le.PutUint32(fn[28:], 3)
	fn[43] = 4
	for _, v := range []uint32{0, 0, 1, 0, 0, 0, 0} { // three tables, four offsets
		fn = le.AppendUint32(fn, v)
	}
	part(64, append(funcs, fn...))
	for _, c := range [][2]uint32{{8, 2}, {15, 5}} { // name, where it is called
		tree = append(tree, 0, 0, 0, 0)
		tree = le.AppendUint32(tree, c[0])
		tree = le.AppendUint32(tree, c[1])
		tree = append(tree, 0, 0, 0, 0)
	}
	return data, tree
}

func TestGoCopies(t *testing.T) {
	data, tree := goFixture()
	c := newGoCopies(foreignImage(append(make([]byte, 64), tree...)), data, goModule{text: 0x1000, funcs: 64})
	g, h := goCopy{"main.g", 0x1004, 0x1002}, goCopy{"main.h", 0x1008, 0x1005}
	for pc, want := range map[uint64][]goCopy{0x1000: nil, 0x1005: {g}, 0x100a: {h, g}, 0x100d: {g}, 0x1010: nil, 0x2000: nil} {
		got := c.at(0x1000, pc)
		if len(got) != len(want) {
			t.Errorf("%#x: %+v, want %+v", pc, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%#x: %+v, want %+v", pc, got[i], want[i])
			}
		}
	}
	if got := c.at(0x1004, 0x1005); got != nil {
		t.Errorf("inside of a function: %+v", got)
	}
}

// FuzzGoCopies reads foreign tables and trees, which may lead in circles.
func FuzzGoCopies(f *testing.F) {
	data, tree := goFixture()
	f.Add(data, tree)
	f.Fuzz(func(t *testing.T, data, tree []byte) {
		if len(data) < pclnHeader {
			return
		}
		c := newGoCopies(foreignImage(tree), data, goModule{text: 0x1000})
		for pc := uint64(0x1000); pc < 0x1020; pc++ {
			if got := c.at(0x1000, pc); len(got) > maxGoCopies {
				t.Errorf("%d copies in one another", len(got))
			}
		}
		g := goTable{table: &gosym.Table{}, copies: c}
		g.once.Do(func() {})
		for line := range 4 {
			if found := len(g.findLine("f.go", line)); found > maxGoRows || found < len(g.lineRows("f.go", line)) && found == 0 {
				t.Errorf("line %d: %d places", line, found)
			}
		}
		cfi, err := unwind.NewTable(unwind.Sections{DebugFrame: c.debugFrame(0)})
		if err != nil {
			t.Fatal(err)
		}
		for range cfi.Rows {
		}
		if err := cfi.Damage(); err != nil {
			t.Errorf("what was made cannot be read: %v", err)
		}
	})
}
