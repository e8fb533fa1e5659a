// Package line decodes line number programs of DWARF 2 to 5 into sorted rows
// (DWARF 5 section 6.2). A Table is immutable once read, except for its cache of
// file names, and safe for concurrent use.
package line

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Flags of a row.
const (
	Stmt          = 1 << iota // is_stmt: recommended breakpoint place
	PrologueEnd               // the prologue of the function ends here
	EndSequence               // the address after a sequence; no line of its own
	Discriminator             // has a discriminator that is not zero
)

// Row is an entry of the table. It covers the addresses up to the next row.
type Row struct {
	Addr uint64
	Line uint32
	File uint32 // index for Table.File
	Disc uint32 // discriminator: which part of the line's code, 0 without
	Col  uint16 // 0xffff also represents greater columns
	Flag uint8
}

// Is reports whether a flag is set.
func (r *Row) Is(flag uint8) bool { return r.Flag&flag != 0 }

// sequence is Rows[first:end], contiguous code.
type sequence struct {
	low, high  uint64
	first, end int
}

type fileEntry struct {
	name []byte // in the section
	dir  uint32
	path atomic.Pointer[string]
}

// A Table is the decoded line program of one or more units.
type Table struct {
	Rows []Row  // grouped by sequence; sequences and rows within ascend
	Size uint64 // of the program in bytes

	seqs    []sequence
	version int
	compDir string
	dirs    [][]byte
	files   []fileEntry

	stmtOnce sync.Once
	stmts    []Row
}

// Files is the number of file indexes, from 0; some may have no name.
func (t *Table) Files() int { return len(t.files) }

// Base is the last component of a file's name, not copied.
func (t *Table) Base(i int) []byte {
	name := t.files[i].name
	return name[bytes.LastIndexByte(name, '/')+1:]
}

// File is the path of a file index as rows and DW_AT_decl_file use it: joined with its directory
// and the directory of the compilation. "" when the index is unknown.
func (t *Table) File(i uint32) string {
	if uint64(i) >= uint64(len(t.files)) {
		return ""
	}
	f := &t.files[i]
	if p := f.path.Load(); p != nil {
		return *p
	}
	p := t.join(f)
	f.path.Store(&p)
	return p
}

func (t *Table) join(f *fileEntry) string {
	if len(f.name) == 0 {
		return ""
	}
	p := string(f.name)
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	if int(f.dir) < len(t.dirs) {
		dir := string(t.dirs[f.dir])
		p = path.Join(dir, p)
		if f.dir == 0 || !needsBase(dir, t.compDir) {
			return p
		}
	}
	return JoinDir(t.compDir, p)
}

// needsBase reports whether dir is relative to the compilation directory. After
// -ffile-prefix-map both may begin with "./", relative to the same source tree.
func needsBase(dir, compDir string) bool {
	return !path.IsAbs(dir) && !(strings.HasPrefix(dir, "./") && strings.HasPrefix(compDir, "."))
}

// JoinDir is file below the compilation directory, unless it is absolute.
func JoinDir(compDir, file string) string {
	if file == "" {
		return ""
	}
	if path.IsAbs(file) || compDir == "" {
		return path.Clean(file)
	}
	return path.Join(compDir, file)
}

// sort brings sequences and rows in order. Rows of a sequence ascend unless the
// producer was broken.
func (t *Table) sort(unsorted bool) {
	for i := range t.seqs {
		s := &t.seqs[i]
		rows := t.Rows[s.first:s.end]
		if unsorted {
			slices.SortStableFunc(rows, byAddr)
		}
		s.low, s.high = rows[0].Addr, rows[len(rows)-1].Addr
	}
	order := func(a, b sequence) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high)) }
	if slices.IsSortedFunc(t.seqs, order) {
		return
	}
	slices.SortStableFunc(t.seqs, order)
	rows := make([]Row, 0, len(t.Rows))
	for i := range t.seqs {
		s := &t.seqs[i]
		first := len(rows)
		rows = append(rows, t.Rows[s.first:s.end]...)
		s.first, s.end = first, len(rows)
	}
	t.Rows = rows
}

func byAddr(a, b Row) int { return cmp.Compare(a.Addr, b.Addr) }

// At is the index of the row that covers a: the last one at or before it.
func (t *Table) At(a uint64) (int, bool) {
	s := t.sequence(a)
	if s == nil {
		return 0, false
	}
	i, j := s.first, s.end // the first row after a
	for i < j {
		if h := int(uint(i+j) >> 1); t.Rows[h].Addr > a {
			j = h
		} else {
			i = h + 1
		}
	}
	return i - 1, true
}

// sequence finds the one that contains a. Sequences may overlap in broken or
// folded code: a few before the nearest are tried.
func (t *Table) sequence(a uint64) *sequence {
	i, j := 0, len(t.seqs) // the first that begins after a
	for i < j {
		if h := int(uint(i+j) >> 1); t.seqs[h].low > a {
			j = h
		} else {
			i = h + 1
		}
	}
	for n := 0; i > 0 && n < 8; n++ {
		i--
		if a < t.seqs[i].high {
			return &t.seqs[i]
		}
	}
	return nil
}

// From is the index of the first row at or after a, len(Rows) without.
func (t *Table) From(a uint64) int {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].high > a })
	if i == len(t.seqs) {
		return len(t.Rows)
	}
	s := t.seqs[i]
	rows := t.Rows[s.first:s.end]
	return s.first + sort.Search(len(rows), func(i int) bool { return rows[i].Addr >= a })
}

// End is the address after the code of row i: the address of the next row further on.
func (t *Table) End(i int) uint64 {
	a := t.Rows[i].Addr
	for _, r := range t.Rows[i+1:] {
		if r.Addr > a || r.Is(EndSequence) {
			return r.Addr
		}
	}
	return a
}
