package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/internal/elfnote"
)

// Types of notes (elf.h).
const (
	ntPRStatus = 1
	ntFPRegset = 2
	ntPRPSInfo = 3
	ntAuxv     = 6
	ntFile     = 0x46494c45
	ntSiginfo  = 0x53494749
	ntXstate   = 0x202
)

// The layouts of struct elf_prstatus and elf_prpsinfo (linux/elfcore.h), in bytes.
const (
	statusSize    = 336
	statusSignal  = 12 // pr_cursig, two bytes
	statusPending = 16
	statusBlocked = 24
	statusTID     = 32
	statusRegs    = 112
	statusFPValid = 328
	regsSize      = 27 * 8
	fpSize        = 512

	infoSize    = 136
	infoUID     = 16
	infoGID     = 20
	infoPID     = 24
	infoCommand = 40 // 16 bytes
	infoArgs    = 56 // 80 bytes

	siginfoSize = 128
)

// readNotes reads the notes of a segment: what there is of them in a core that is cut.
func (f *File) readNotes(h elf.ProgHeader) {
	if h.Off >= f.size {
		f.Missing = max(f.Missing, h.Off+h.Filesz-f.size)
		f.damaged(fmt.Errorf("the notes are missing: they would lie at %#x of a file of %d bytes", h.Off, f.size))
		return
	}
	size := min(h.Filesz, f.size-h.Off)
	if size < h.Filesz {
		f.damaged(fmt.Errorf("notes of %d bytes: %d are there", h.Filesz, size))
	}
	b := make([]byte, size)
	if n, err := f.r.ReadAt(b, int64(h.Off)); err != nil && err != io.EOF {
		f.damaged(fmt.Errorf("notes: %w", err))
		b = b[:n]
	}
	for len(b) > 0 {
		n, rest, err := elfnote.Next(binary.LittleEndian, b)
		if err != nil {
			f.damaged(err)
			return
		}
		if err := f.note(n); err != nil {
			f.damaged(err)
		}
		b = rest
	}
}

// text is what is before the first zero byte.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// note takes up one note. Those of a thread follow its NT_PRSTATUS.
func (f *File) note(n elfnote.Note) error {
	if n.Name != "CORE" && n.Name != "LINUX" {
		return nil
	}
	short := func(want int) error {
		return fmt.Errorf("note of type %#x: %d bytes, %d expected", n.Type, len(n.Desc), want)
	}
	var t *Thread
	if len(f.Threads) > 0 {
		t = &f.Threads[len(f.Threads)-1]
	}
	switch n.Type {
	case ntPRStatus:
		if len(n.Desc) < statusSize {
			return short(statusSize)
		}
		if len(f.Threads) >= maxThreads {
			return fmt.Errorf("more than %d threads", maxThreads)
		}
		le := binary.LittleEndian
		f.Threads = append(f.Threads, Thread{
			TID: int(int32(le.Uint32(n.Desc[statusTID:]))), Signal: int(le.Uint16(n.Desc[statusSignal:])),
			Pending: le.Uint64(n.Desc[statusPending:]), Blocked: le.Uint64(n.Desc[statusBlocked:]),
			Regs: n.Desc[statusRegs:][:regsSize],
		})
	case ntFPRegset:
		if t != nil && len(n.Desc) >= fpSize {
			t.FP = n.Desc[:fpSize]
		}
	case ntXstate:
		if t != nil {
			t.Xstate = n.Desc
		}
	case ntSiginfo:
		if len(n.Desc) < siginfoSize {
			return short(siginfoSize)
		}
		if t != nil {
			t.Siginfo = n.Desc[:siginfoSize]
		}
	case ntPRPSInfo:
		if len(n.Desc) < infoSize {
			return short(infoSize)
		}
		f.Process.UID = int(binary.LittleEndian.Uint32(n.Desc[infoUID:]))
		f.Process.GID = int(binary.LittleEndian.Uint32(n.Desc[infoGID:]))
		f.Process.PID = int(int32(binary.LittleEndian.Uint32(n.Desc[infoPID:])))
		f.Process.Command = text(n.Desc[infoCommand:][:16])
		f.Process.Args = strings.TrimRight(text(n.Desc[infoArgs:][:80]), " ")
	case ntAuxv:
		for _, e := range ParseAuxv(n.Desc) {
			f.AuxVector, f.Auxv[e.Type] = append(f.AuxVector, e), e.Value
		}
	case ntFile:
		return f.noteFiles(n.Desc)
	}
	return nil
}

// noteFiles reads NT_FILE: a count, the size of a page, for each file mapping its
// begin, end and offset in pages, and behind them the names.
func (f *File) noteFiles(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 16 {
		return fmt.Errorf("note of mapped files: %d bytes", len(b))
	}
	count, page := le.Uint64(b), le.Uint64(b[8:])
	b = b[16:]
	if count > maxFiles || count*24 > uint64(len(b)) || page == 0 || page > 1<<30 {
		return fmt.Errorf("note of mapped files: %d of them with pages of %d bytes in %d bytes", count, page, len(b))
	}
	names := b[count*24:]
	for range count {
		name := text(names)
		if len(name) == len(names) {
			return fmt.Errorf("note of mapped files: the names are cut off")
		}
		names = names[len(name)+1:]
		r := fileRange{addr.Run(le.Uint64(b)), addr.Run(le.Uint64(b[8:])), le.Uint64(b[16:]), name}
		b = b[24:]
		if r.low >= r.high || r.off > (1<<62)/page {
			continue
		}
		r.off *= page
		f.files = append(f.files, r)
	}
	f.sortFiles()
	return nil
}

// sortFiles orders the files by address; of two at the same one the first counts.
func (f *File) sortFiles() {
	slices.SortStableFunc(f.files, func(a, b fileRange) int { return cmp.Compare(a.low, b.low) })
	var end addr.Run
	f.files = slices.DeleteFunc(f.files, func(r fileRange) bool {
		if r.low < end {
			return true
		}
		end = r.high
		return false
	})
}
