package symbols

import (
	"encoding/binary"

	"hdb/internal/addr"
)

// Offsets in runtime._func (Go's src/runtime/runtime2.go).
const (
	goStackTable = 16 // of how far the stack pointer has moved
	goTopFrame   = 1  // of the flags: nothing called it
)

// maxGoFrames bounds what debugFrame makes of a malformed file, in bytes.
const maxGoFrames = 64 << 20

// The instructions of a call frame (DWARF 5, section 6.4.2) that debugFrame uses.
const (
	cfaAdvance   = 0x40 // and how far, below 0x40
	cfaAdvance4  = 0x04
	cfaUndefined = 0x07
	cfaDefine    = 0x0c
	cfaOffset    = 0x0e
	cfaSaved     = 0x80 // and the register
)

// goCIE is the entry that all others refer to: the return address, column 16, is the
// word below the CFA, which is 8 bytes above the stack pointer, register 7, at first.
var goCIE = []byte{
	0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, // the alignment of data is -8
	cfaDefine, 7, 8, cfaSaved | 16, 1,
	0, 0,
}

// debugFrame is the .debug_frame that Go's linker leaves out when it leaves out DWARF,
// made of what the runtime's own tracebacks ask: how far each function has moved the
// stack pointer at an address. nil if there is nothing. What begins at the entry point
// was not called.
func (c *goCopies) debugFrame(entry addr.File) []byte {
	if c.image == nil {
		return nil
	}
	out := appendFrameEntry(nil, goCIE)
	var body []byte
	for i := range int(c.count) {
		low := c.module.text + uint64(binary.LittleEndian.Uint32(c.funcs[8*i:]))
		fn, ok := c.function(low)
		if !ok {
			continue
		}
		table := binary.LittleEndian.Uint32(fn[goStackTable:])
		runs := c.runs(low, table)
		if table == 0 || len(runs) == 0 {
			continue
		}
		body = binary.LittleEndian.AppendUint32(body[:0], 0) // the offset of goCIE
		body = binary.LittleEndian.AppendUint64(body, low)
		body = binary.LittleEndian.AppendUint64(body, runs[len(runs)-1].high-low)
		if fn[c.flag]&goTopFrame != 0 || low == uint64(entry) {
			body = append(body, cfaUndefined, 16)
		}
		body = appendStackRuns(body, low, runs)
		if out = appendFrameEntry(out, body); len(out) > maxGoFrames {
			break
		}
	}
	return out
}

// appendStackRuns adds the instructions for a function whose runs say how far the stack
// pointer has moved.
func appendStackRuns(body []byte, low uint64, runs []goRun) []byte {
	at := low
	for _, r := range runs {
		switch step := r.low - at; {
		case step == 0:
		case step < 0x40:
			body = append(body, cfaAdvance|byte(step))
		default:
			body = binary.LittleEndian.AppendUint32(append(body, cfaAdvance4), uint32(step))
		}
		at = r.low
		body = binary.AppendUvarint(append(body, cfaOffset), uint64(max(int64(r.value)+8, 0)))
	}
	return body
}

// appendFrameEntry adds an entry with its length.
func appendFrameEntry(out, body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(body))), body...)
}
