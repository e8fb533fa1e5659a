package symbols

import (
	"bytes"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/elf"
)

// body is the code of a function for finding where its prologue ends.
type body struct {
	file      *elf.File
	low, high uint64
	unit      *dwarf.Unit // nil without DWARF
	lines     *line.Table // nil without
}

// breakpoint is where gdb places a breakpoint on the function, so that arguments
// are in place: its entry when the compiler describes variables exactly from
// there on (optimized code of gcc), else after the prologue.
func (f *body) breakpoint() uint64 {
	if f.unit != nil && f.lines != nil && f.describesEntry() {
		return f.low
	}
	pc := f.skipPrologue()
	if f.lines == nil {
		return pc
	}
	// In the middle of a line: the next one begins after the prologue.
	i, ok := f.lines.StmtAt(pc)
	if !ok || f.lines.Stmts()[i].Addr == pc {
		return pc
	}
	if end := f.lines.StmtEnd(i); f.low <= end && end < f.high {
		return end
	}
	return pc
}

// describesEntry reports whether variables can be read at the first instruction.
func (f *body) describesEntry() bool {
	root, err := f.unit.Load()
	if err != nil {
		return false
	}
	if root.Language == dwarf.LangAssembler {
		return true
	}
	gcc := strings.HasPrefix(root.Producer, "GNU ") && !strings.HasPrefix(root.Producer, "GNU AS")
	table := f.unit.Abbrevs()
	return gcc && table != nil && table.LocLists
}

// skipPrologue passes the instructions that set up the frame.
func (f *body) skipPrologue() uint64 {
	if f.unit != nil && f.lines != nil {
		root, err := f.unit.Load()
		llvm := err == nil && (strings.HasPrefix(root.Producer, "clang ") || strings.Contains(root.Producer, " clang version ")) // Debian has its name before
		if llvm || err == nil && root.Language == dwarf.LangGo {
			if pc := f.markedEnd(); pc != 0 {
				return pc
			}
		}
		if llvm {
			if pc := f.secondLine(); pc != 0 {
				return max(f.low, pc)
			}
		}
	}
	code := make([]byte, min(f.high-f.low, 64))
	if !f.file.ReadAddr(code, addr.File(f.low)) {
		return f.low
	}
	n := prologueLen(code)
	return f.low + uint64(n)
}

// markedEnd is where LLVM and Go mark the end of the prologue; 0 without.
func (f *body) markedEnd() uint64 {
	rows := f.lines.Rows
	for k := f.lines.From(f.low); k < len(rows) && rows[k].Addr < f.high && !rows[k].Is(line.EndSequence); k++ {
		if rows[k].Is(line.PrologueEnd) {
			return rows[k].Addr
		}
	}
	return 0
}

// secondLine is where the row of the function's opening line ends: LLVM's body
// begins there. 0 unknown.
func (f *body) secondLine() uint64 {
	rows := f.lines.Stmts()
	i, ok := f.lines.StmtAt(f.low)
	if !ok {
		return 0
	}
	for i > 0 && rows[i-1].Addr == rows[i].Addr && !rows[i-1].Is(line.EndSequence) {
		i--
	}
	if i+1 < len(rows) && rows[i+1].Addr == f.low && !rows[i+1].Is(line.EndSequence) {
		return f.low // two rows at the entry: an empty prologue
	}
	end := f.lines.StmtEnd(i)
	if end >= f.high {
		return 0 // a function of one line
	}
	for end < f.high {
		k, ok := f.lines.StmtAt(end)
		if !ok || rows[k].Line >= rows[i].Line || rows[k].File != rows[i].File {
			break
		}
		i, end = k, f.lines.StmtEnd(k) // the scheduler moved instructions of earlier lines here
	}
	if end < f.high {
		return end
	}
	return rows[i].Addr
}

// Instructions of frames that gcc and clang make.
var (
	endbr64   = []byte{0xf3, 0x0f, 0x1e, 0xfa}
	pushRBP   = []byte{0x55}
	movRSPRBP = [][]byte{
		{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}, // mov %rsp,%rbp
		{0x89, 0xe5}, {0x8b, 0xec}, // mov %esp,%ebp
	}
)

// prologueLen is the length of a prologue with a frame pointer, 0 for functions
// without one. Other pushes and the making of room on the stack are not passed,
// as in gdb: the row of the line table does that.
func prologueLen(code []byte) int {
	n := realignLen(code)
	if bytes.HasPrefix(code[n:], endbr64) {
		n += len(endbr64)
	}
	if !bytes.HasPrefix(code[n:], pushRBP) {
		return 0
	}
	n += len(pushRBP)
	for _, mov := range movRSPRBP {
		if bytes.HasPrefix(code[n:], mov) {
			return n + len(mov)
		}
	}
	return 0
}

// realignLen is the length of a sequence that realigns the stack:
// lea 8(%rsp),%reg; and $-N,%rsp; push -8(%reg).
func realignLen(code []byte) int {
	if len(code) < 5 || code[0] != 0x4c && code[0] != 0x48 || code[1] != 0x8d || code[2]&0xc7 != 0x44 || code[3] != 0x24 || code[4] != 8 {
		return 0
	}
	n := 5
	switch {
	case bytes.HasPrefix(code[n:], []byte{0x48, 0x83, 0xe4}):
		n += 4
	case bytes.HasPrefix(code[n:], []byte{0x48, 0x81, 0xe4}):
		n += 7
	default:
		return 0
	}
	if len(code) < n+4 {
		return 0
	}
	if code[n] == 0x41 {
		n++
	}
	if code[n] != 0xff || code[n+1]&0xf8 != 0x70 || code[n+2] != 0xf8 {
		return 0
	}
	return n + 3
}
