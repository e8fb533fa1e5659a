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
		n, rest, err := nextNote(b)
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

// A note is one of an ELF file.
type note struct {
	name string
	kind uint32
	desc []byte
}

// nextNote cuts the first note off. Name and descriptor are padded to 4 bytes.
func nextNote(b []byte) (n note, rest []byte, err error) {
	if len(b) < 12 {
		return n, nil, fmt.Errorf("note: %d bytes", len(b))
	}
	le := binary.LittleEndian
	name, desc := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	n.kind = le.Uint32(b[8:])
	b = b[12:]
	if end := pad4(name) + desc; end > uint64(len(b)) {
		return n, nil, fmt.Errorf("note of type %#x: %d bytes, %d are there", n.kind, end, len(b))
	}
	n.name = text(b[:name])
	n.desc = b[pad4(name):][:desc]
	return n, b[min(pad4(pad4(name)+desc), uint64(len(b))):], nil
}

func pad4(n uint64) uint64 { return (n + 3) &^ 3 }

// text is what stands before the first zero byte.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// note takes up one note. Those of a thread follow its NT_PRSTATUS.
func (f *File) note(n note) error {
	if n.name != "CORE" && n.name != "LINUX" {
		return nil
	}
	short := func(want int) error {
		return fmt.Errorf("note of type %#x: %d bytes, %d expected", n.kind, len(n.desc), want)
	}
	var t *Thread
	if len(f.Threads) > 0 {
		t = &f.Threads[len(f.Threads)-1]
	}
	switch n.kind {
	case ntPRStatus:
		if len(n.desc) < statusSize {
			return short(statusSize)
		}
		if len(f.Threads) >= maxThreads {
			return fmt.Errorf("more than %d threads", maxThreads)
		}
		le := binary.LittleEndian
		f.Threads = append(f.Threads, Thread{
			TID: int(int32(le.Uint32(n.desc[statusTID:]))), Signal: int(le.Uint16(n.desc[statusSignal:])),
			Pending: le.Uint64(n.desc[statusPending:]), Blocked: le.Uint64(n.desc[statusBlocked:]),
			Regs: n.desc[statusRegs:][:regsSize],
		})
	case ntFPRegset:
		if t != nil && len(n.desc) >= fpSize {
			t.FP = n.desc[:fpSize]
		}
	case ntXstate:
		if t != nil {
			t.Xstate = n.desc
		}
	case ntSiginfo:
		if len(n.desc) < siginfoSize {
			return short(siginfoSize)
		}
		if t != nil {
			t.Siginfo = n.desc[:siginfoSize]
		}
	case ntPRPSInfo:
		if len(n.desc) < infoSize {
			return short(infoSize)
		}
		f.Process.PID = int(int32(binary.LittleEndian.Uint32(n.desc[infoPID:])))
		f.Process.Command = text(n.desc[infoCommand:][:16])
		f.Process.Args = strings.TrimRight(text(n.desc[infoArgs:][:80]), " ")
	case ntAuxv:
		for b := n.desc; len(b) >= 16; b = b[16:] {
			e := AuxEntry{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
			if e.Type == 0 {
				break
			}
			f.AuxVector, f.Auxv[e.Type] = append(f.AuxVector, e), e.Value
		}
	case ntFile:
		return f.noteFiles(n.desc)
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
