package main

import (
	"fmt"
	"io"
	"os"
	"sort"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/procfs"
	"hdb/symbols"
)

// mapped is the module at a run address of the process, and the address in its file;
// -1 where no file is mapped.
func (s *symbolizer) mapped(a addr.Run) (int32, addr.File) {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].High > a })
	if i == len(s.maps) || a < s.maps[i].Low {
		return -1, 0
	}
	m := &s.maps[i]
	var n int32
	switch {
	case m.Path == "[vdso]":
		n = s.vdso(m)
	case m.Inode == 0:
		return -1, 0
	default:
		key := m.Path
		if m.Deleted {
			key = fmt.Sprintf("%s (deleted, inode %d)", m.Path, m.Inode)
		}
		known, ok := s.byPath[key]
		if n = known; !ok {
			n = s.mappedFile(key, m)
		}
	}
	obj := s.modules[n].obj
	if obj == nil {
		return n, 0
	}
	at := uint64(a-m.Low) + m.Offset
	for _, seg := range s.modules[n].segments(obj) {
		// The kernel maps whole pages: the segment's first may begin before it.
		first := seg.Off &^ (pageSize - 1)
		if at >= first && at < seg.Off+max(seg.Filesz, 1) && seg.Exec == (m.Perm[2] == 'x') {
			return n, seg.Addr + addr.File(at-seg.Off)
		}
	}
	return -1, 0
}

// pageSize is x86-64's.
const pageSize = 4096

// segments are the file's, read once.
func (m *symbolizeModule) segments(obj named) []symbols.Segment {
	if m.segs == nil {
		m.segs = obj.Segments()
	}
	return m.segs
}

// vdso is the kernel's library, which is a file only in memory.
func (s *symbolizer) vdso(m *inferior.Mapping) int32 {
	if n, ok := s.byPath[m.Path]; ok {
		return n
	}
	obj, err := s.readVDSO(m)
	if err != nil {
		s.complain(fmt.Errorf("vDSO of process %d: %w", s.pid, err))
		return s.add(m.Path, nil)
	}
	return s.add(m.Path, newELFFile(obj))
}

func (s *symbolizer) readVDSO(m *inferior.Mapping) (*symbols.Object, error) {
	if s.dead != nil {
		size := int64(m.High - m.Low)
		return symbols.OpenReaderAt(m.Path, io.NewSectionReader(s.dead, int64(m.Low), size), size, symbols.Config{})
	}
	mem, err := os.Open(procfs.Path(s.pid, "mem"))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	size := int64(m.High - m.Low)
	return symbols.OpenReaderAt(m.Path, io.NewSectionReader(mem, int64(m.Low), size), size, symbols.Config{})
}
