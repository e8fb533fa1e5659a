package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hdb/internal/addr"
	"hdb/internal/elfnote"
	"hdb/internal/regular"
)

// A backing is a file whose pages the core leaves out.
type backing struct {
	path  string // where it was found
	file  *os.File
	loads []elf.ProgHeader // PT_LOAD, of an ELF file
	size  int64
	err   error // why it cannot be used
}

// Use has the memory of the mapped file of that name be read from path. It is called
// before the first read.
func (f *File) Use(name, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backed[name] = f.openBacking(name, path)
}

// Found is where the mapped file of that name is looked for. Whether what lies there is
// the same file is checked when memory is read from it, and by build ID for its symbols.
// It is "" if the file there cannot be the same.
func (f *File) Found(name string) string {
	b := f.backing(name)
	if b.err != nil && f.head(name) == nil {
		return ""
	}
	return b.path
}

// backing opens a file on first use, and tells once why it cannot be used.
func (f *File) backing(name string) *backing {
	f.mu.Lock()
	b := f.backed[name]
	known := b != nil
	if !known {
		b = f.openBacking(name, name)
		f.backed[name] = b
	}
	f.mu.Unlock()
	if !known && b.err != nil && f.Report != nil {
		f.Report(fmt.Sprintf("%v: its memory that is not in the core cannot be read", b.err))
	}
	return b
}

// Check is why the mapped file of that name is not the one that was mapped, as far as the core
// can tell; nil if it may be.
func (f *File) Check(name string) error { return f.backing(name).err }

func (f *File) openBacking(name, path string) *backing {
	b := &backing{path: path}
	if strings.HasSuffix(name, " (deleted)") && name == path {
		b.err = fmt.Errorf("%s: it was deleted while the process ran", strings.TrimSuffix(name, " (deleted)"))
		return b
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		b.err = fmt.Errorf("%s: not a file that can be read after the process has ended", path)
		return b
	}
	file, st, err := regular.Open(path)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", path, reason(err))
		return b
	}
	if b.err = f.sameFile(name, path, file, st); b.err != nil {
		file.Close()
		return b
	}
	b.file, b.size = file, st.Size()
	if e, err := elf.NewFile(file); err == nil {
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD {
				b.loads = append(b.loads, p.ProgHeader)
			}
		}
	}
	return b
}

// reason is the cause of an error about a path without the path.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// sameFile is nil when the file is the one that was mapped: by the first page, if the
// core has it, else by not having been changed since.
func (f *File) sameFile(name, path string, file io.ReaderAt, st os.FileInfo) error {
	head := f.head(name)
	if head == nil {
		if st.ModTime().After(f.modified) {
			return fmt.Errorf("%s: changed after the core was written", path)
		}
		return nil
	}
	have := make([]byte, len(head))
	n, err := file.ReadAt(have, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	want, id := BuildID(head), BuildID(have[:n])
	switch {
	case want != "" && id != "" && want == id:
		return nil
	case want != "" || id != "":
		return fmt.Errorf("%s: %s, the core has %s", path, idText(id), idText(want))
	case !bytes.Equal(head, have[:n]):
		return fmt.Errorf("%s: not the file that was mapped, its first page differs", path)
	case st.ModTime().After(f.modified):
		return fmt.Errorf("%s: no build ID, and changed after the core was written", path)
	}
	return nil
}

func idText(id string) string {
	if id == "" {
		return "no build ID"
	}
	return "build ID " + id
}

// head is the first page of a mapped file as stored in the core, nil if it does not.
func (f *File) head(name string) []byte {
	for i := range f.files {
		r := &f.files[i]
		if r.name != name || r.off != 0 {
			continue
		}
		s := f.segmentAt(r.low)
		if s == nil || s.stored < uint64(r.low-s.low)+pageSize {
			continue
		}
		b := make([]byte, pageSize)
		if n, err := f.readStored(b, r.low, s); err == nil && n == len(b) {
			return b
		}
	}
	return nil
}

// readFile reads memory out of the file that is mapped there.
func (f *File) readFile(b []byte, a addr.Run, r *fileRange) (int, error) {
	k := f.backing(r.name)
	if k.err != nil {
		return 0, fmt.Errorf("read memory at %v: left out of the core: %w", a, k.err)
	}
	off := int64(r.off + uint64(a-r.low))
	n, err := k.file.ReadAt(b, off)
	if err == io.EOF || err == nil {
		// What is behind the end of the file in its last page is zeros.
		if last := (k.size + pageSize - 1) / pageSize * pageSize; off+int64(n) >= k.size && off+int64(n) < last {
			zeros := min(int64(len(b)), last-off)
			clear(b[n:zeros])
			n = int(zeros)
		}
	}
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	return 0, fmt.Errorf("read memory at %v: %s: beyond its end", a, k.path)
}

// BuildID is the build ID of an ELF file, whose first bytes are given, in hexadecimal; "" if there
// is none in them.
func BuildID(image []byte) string {
	le := binary.LittleEndian
	if len(image) < 64 || string(image[:4]) != elf.ELFMAG || elf.Class(image[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return ""
	}
	size := uint64(len(image))
	off, entry, count := le.Uint64(image[32:]), uint64(le.Uint16(image[54:])), uint64(le.Uint16(image[56:]))
	if entry < 56 || off > size || entry*count > size-off {
		return ""
	}
	for i := range count {
		h := image[off+i*entry:]
		at, n := le.Uint64(h[8:]), le.Uint64(h[32:])
		if elf.ProgType(le.Uint32(h)) != elf.PT_NOTE || at > size || n > size-at {
			continue
		}
		if id := elfnote.BuildID(le, image[at:at+n]); id != "" {
			return id
		}
	}
	return ""
}
