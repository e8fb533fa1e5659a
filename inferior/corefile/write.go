package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"

	"hdb/internal/addr"
	"hdb/internal/elfnote"
)

// An Image is what a core file is made of.
type Image struct {
	Process                Process
	Parent, Group, Session int // process IDs
	UID, GID               int
	Threads                []Thread // the one that died, or is to be seen first, comes first
	Auxv                   []byte   // as the kernel gave it to the program
	Regions                []Region // ascending
	Memory                 io.ReaderAt
	// Untouched tells that memory is zeros without reading it; nil: not known. There may be
	// terabytes of it.
	Untouched func(a addr.Run, n uint64) bool
	// Close closes what Untouched reads; nil: nothing.
	Close func() error
	// Proceed is asked between parts of the memory; an error of it ends the writing. It
	// may be nil.
	Proceed func() error
}

// A Region is a mapping to be written.
type Region struct {
	Low, High addr.Run
	Flags     elf.ProgFlag
	Stored    uint64 // bytes from Low on that are written; the others are left out
	File      string // the file that is mapped, "" none
	Offset    uint64 // into the file, bytes
}

// Write writes a core file in the order in which the kernel does: headers, notes and the
// memory. Pages of zeros become holes if w can seek. Memory that cannot be read is
// written as zeros, which is what the kernel does.
func (im *Image) Write(w io.Writer) (size int64, err error) {
	notes := im.notes()
	count := len(im.Regions) + 1
	many := count >= pnXNum
	at := uint64(headerSize + entrySize*count)
	if many {
		at += sectionSize
	}
	var b bytes.Buffer
	im.header(&b, count, many)
	programHeader(&b, elf.ProgHeader{Type: elf.PT_NOTE, Off: at, Filesz: uint64(len(notes)), Align: 4})
	data := (at + uint64(len(notes)) + pageSize - 1) &^ (pageSize - 1)
	off := data
	for _, r := range im.Regions {
		programHeader(&b, elf.ProgHeader{Type: elf.PT_LOAD, Flags: r.Flags, Off: off, Vaddr: uint64(r.Low),
			Filesz: r.Stored, Memsz: uint64(r.High - r.Low), Align: pageSize})
		off += r.Stored
	}
	if many { // the number of program headers, see elf(5)
		s := make([]byte, sectionSize)
		binary.LittleEndian.PutUint32(s[44:], uint32(count))
		b.Write(s)
	}
	b.Write(notes)
	b.Write(make([]byte, data-uint64(b.Len())))
	out := newHoles(w)
	if err := out.write(b.Bytes()); err != nil {
		return out.size, err
	}
	for _, r := range im.Regions {
		if err := im.writeRegion(out, r); err != nil {
			return out.size, err
		}
	}
	return out.size, out.end()
}

const (
	headerSize  = 64
	entrySize   = 56
	sectionSize = 64
	pnXNum      = 0xffff
	writeChunk  = 1 << 20
	skipChunk   = 64 << 20
)

func (im *Image) header(b *bytes.Buffer, count int, many bool) {
	h := make([]byte, headerSize)
	le := binary.LittleEndian
	copy(h, elf.ELFMAG)
	h[elf.EI_CLASS], h[elf.EI_DATA], h[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	le.PutUint16(h[16:], uint16(elf.ET_CORE))
	le.PutUint16(h[18:], uint16(elf.EM_X86_64))
	le.PutUint32(h[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(h[32:], headerSize)
	le.PutUint16(h[52:], headerSize)
	le.PutUint16(h[54:], entrySize)
	le.PutUint16(h[56:], uint16(min(count, pnXNum)))
	if many {
		le.PutUint64(h[40:], uint64(headerSize+entrySize*count))
		le.PutUint16(h[58:], sectionSize)
		le.PutUint16(h[60:], 1)
	}
	b.Write(h)
}

func programHeader(b *bytes.Buffer, p elf.ProgHeader) {
	h := make([]byte, entrySize)
	le := binary.LittleEndian
	le.PutUint32(h, uint32(p.Type))
	le.PutUint32(h[4:], uint32(p.Flags))
	le.PutUint64(h[8:], p.Off)
	le.PutUint64(h[16:], p.Vaddr)
	le.PutUint64(h[32:], p.Filesz)
	le.PutUint64(h[40:], p.Memsz)
	le.PutUint64(h[48:], p.Align)
	b.Write(h)
}

// notes are those of the process behind the status of the first thread.
func (im *Image) notes() []byte {
	var b []byte
	for i := range im.Threads {
		t := &im.Threads[i]
		b = appendNote(b, "CORE", ntPRStatus, im.status(t))
		if i == 0 {
			b = appendNote(b, "CORE", ntPRPSInfo, im.info())
		}
		if t.Siginfo != nil {
			b = appendNote(b, "CORE", ntSiginfo, t.Siginfo)
		}
		if i == 0 {
			b = appendNote(b, "CORE", ntAuxv, im.Auxv)
			b = appendNote(b, "CORE", ntFile, im.fileNote())
		}
		if t.FP != nil {
			b = appendNote(b, "CORE", ntFPRegset, t.FP)
		}
		if t.Xstate != nil {
			b = appendNote(b, "LINUX", ntXstate, t.Xstate)
		}
	}
	return b
}

func appendNote(b []byte, name string, kind uint32, desc []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(len(name)+1))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, kind)
	b = append(append(b, name...), 0)
	b = append(b, make([]byte, elfnote.Pad(uint64(len(b)))-uint64(len(b)))...)
	b = append(b, desc...)
	return append(b, make([]byte, elfnote.Pad(uint64(len(b)))-uint64(len(b)))...)
}

func (im *Image) status(t *Thread) []byte {
	b := make([]byte, statusSize)
	le := binary.LittleEndian
	le.PutUint32(b, uint32(t.Signal)) // pr_info.si_signo
	le.PutUint16(b[statusSignal:], uint16(t.Signal))
	le.PutUint64(b[statusPending:], t.Pending)
	le.PutUint64(b[statusBlocked:], t.Blocked)
	for i, id := range []int{t.TID, im.Parent, im.Group, im.Session} {
		le.PutUint32(b[statusTID+4*i:], uint32(id))
	}
	copy(b[statusRegs:][:regsSize], t.Regs)
	if t.FP != nil {
		b[statusFPValid] = 1
	}
	return b
}

func (im *Image) info() []byte {
	b := make([]byte, infoSize)
	le := binary.LittleEndian
	b[1] = 'R' // pr_sname
	for i, id := range []int{im.UID, im.GID, im.Process.PID, im.Parent, im.Group, im.Session} {
		le.PutUint32(b[infoPID-8+4*i:], uint32(id))
	}
	copy(b[infoCommand:][:15], im.Process.Command)
	copy(b[infoArgs:][:79], im.Process.Args)
	return b
}

func (im *Image) fileNote() []byte {
	le := binary.LittleEndian
	var count uint64
	var ranges, names []byte
	for _, r := range im.Regions {
		if r.File == "" {
			continue
		}
		count++
		for _, v := range []uint64{uint64(r.Low), uint64(r.High), r.Offset / pageSize} {
			ranges = le.AppendUint64(ranges, v)
		}
		names = append(append(names, r.File...), 0)
	}
	b := le.AppendUint64(le.AppendUint64(nil, count), pageSize)
	return append(append(b, ranges...), names...)
}

// writeRegion copies the memory of a region.
func (im *Image) writeRegion(out *holes, r Region) error {
	buf := make([]byte, min(r.Stored, writeChunk))
	for done, end := uint64(0), uint64(0); done < r.Stored; {
		if im.Proceed != nil {
			if err := im.Proceed(); err != nil {
				return err
			}
		}
		a := r.Low + addr.Run(done)
		if done >= end { // where the next stride begins
			end = done + min(r.Stored-done, skipChunk)
			if im.Untouched != nil && im.Untouched(a, end-done) {
				out.skip(end - done)
				done = end
				continue
			}
		}
		b := buf[:min(end-done, writeChunk)]
		if im.Untouched != nil && im.Untouched(a, uint64(len(b))) {
			out.skip(uint64(len(b)))
			done += uint64(len(b))
			continue
		}
		im.read(b, a)
		if err := out.write(b); err != nil {
			return err
		}
		done += uint64(len(b))
	}
	return nil
}

// read reads memory, with zeros for the pages that cannot be read.
func (im *Image) read(b []byte, a addr.Run) {
	for len(b) > 0 {
		n, err := im.Memory.ReadAt(b, int64(a))
		if err == nil || n >= len(b) {
			return
		}
		skip := min(len(b), n+pageSize-int((uint64(a)+uint64(n))%pageSize))
		clear(b[n:skip])
		b, a = b[skip:], a+addr.Run(skip)
	}
}

// holes writes, and leaves pages of zeros out where it can.
type holes struct {
	w       io.Writer
	seek    io.Seeker // nil if w cannot
	size    int64     // of all, with the zeros
	pending int64     // zeros not written yet
}

func newHoles(w io.Writer) *holes {
	h := &holes{w: w}
	if s, ok := w.(io.Seeker); ok {
		if _, err := s.Seek(0, io.SeekCurrent); err == nil {
			h.seek = s
		}
	}
	return h
}

var zeroPage [pageSize]byte

func (h *holes) write(b []byte) error {
	for len(b) > 0 {
		n := min(pageSize, len(b))
		k := 0 // bytes that are not zeros, in whole pages
		for k < len(b) && !bytes.Equal(b[k:min(k+pageSize, len(b))], zeroPage[:min(pageSize, len(b)-k)]) {
			k += min(pageSize, len(b)-k)
		}
		if k == 0 {
			h.pending += int64(n)
			h.size += int64(n)
			b = b[n:]
			continue
		}
		if err := h.flush(); err != nil {
			return err
		}
		if _, err := h.w.Write(b[:k]); err != nil {
			return err
		}
		h.size += int64(k)
		b = b[k:]
	}
	return nil
}

// skip has n bytes be zeros.
func (h *holes) skip(n uint64) { h.pending, h.size = h.pending+int64(n), h.size+int64(n) }

// flush makes room for the zeros that are due.
func (h *holes) flush() error {
	if h.pending == 0 {
		return nil
	}
	if h.seek != nil {
		_, err := h.seek.Seek(h.pending, io.SeekCurrent)
		h.pending = 0
		return err
	}
	for ; h.pending > 0; h.pending -= int64(min(h.pending, pageSize)) {
		if _, err := h.w.Write(zeroPage[:min(h.pending, pageSize)]); err != nil {
			return err
		}
	}
	return nil
}

// end gives the file its size when zeros are the last of it.
func (h *holes) end() error {
	if h.pending == 0 {
		return nil
	}
	h.pending--
	if err := h.flush(); err != nil {
		return err
	}
	_, err := h.w.Write([]byte{0})
	return err
}
