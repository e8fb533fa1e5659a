package reloc

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// A line is an instruction as objdump prints it, the second opinion on x86asm.
type line struct {
	at     uint64
	text   string // mnemonic and operands, without what target says
	target uint64 // of a branch, or the address of an operand relative to RIP
	far    bool   // there is a target
	first  bool   // of a section: what comes before it may be a gap
}

// objdump reads the instructions that it prints.
func objdump(t *testing.T, args ...string) []line {
	t.Helper()
	out, err := exec.Command("objdump", args...).Output()
	if err != nil {
		t.Fatalf("objdump %s: %v (Debian package binutils)", strings.Join(args, " "), err)
	}
	var lines []line
	first := false
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		first = first || strings.HasPrefix(s.Text(), "Disassembly of")
		at, text, ok := strings.Cut(s.Text(), ":\t")
		if !ok {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(at), 16, 64); err == nil {
			l := parseLine(n, text)
			l.first, first = first, false
			lines = append(lines, l)
		}
	}
	return lines
}

// parseLine takes the target out of, for example,
//
//	mov    0x2f6b(%rip),%rax        # 4010 <data>
//	jne    1040 <main+0x20>
func parseLine(at uint64, text string) line {
	l := line{at: at}
	text, note, isOperand := strings.Cut(text, "#")
	text = strings.Join(strings.Fields(text), " ")
	if isOperand {
		l.target, l.far = number(note)
		before, after, _ := strings.Cut(text, "(%rip)")
		l.text = before[:strings.LastIndexAny(before, " ,*")+1] + "(%rip)" + after
		return l
	}
	words := strings.Fields(text)
	for k, w := range words {
		last := k == len(words)-1 || strings.HasPrefix(words[k+1], "<")
		if n, ok := number(w); ok && k > 0 && last {
			l.target, l.far = n, true
			l.text = strings.Join(words[:k], " ")
			return l
		}
	}
	l.text = text
	return l
}

// number reads the number that text begins with.
func number(text string) (uint64, bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(words[0], "0x"), 16, 64)
	return n, err == nil
}

// A piece is code that lies, or is to lie, at at.
type piece struct {
	at   addr.Run
	code []byte
}

// stride is the room that disassemble gives a piece.
const stride = 128

// disassemble gives the instructions of each piece.
func disassemble(t *testing.T, pieces []piece) [][]line {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pieces")
	flat := bytes.Repeat([]byte{0x90}, stride*len(pieces))
	for k, p := range pieces {
		if copy(flat[k*stride:(k+1)*stride], p.code) < len(p.code) {
			t.Fatalf("%d bytes at %v are too many", len(p.code), p.at)
		}
	}
	if err := os.WriteFile(file, flat, 0o600); err != nil {
		t.Fatal(err)
	}
	all := make([][]line, len(pieces))
	for _, l := range objdump(t, "-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", "-z", file) {
		k := l.at / stride
		if l.at%stride >= uint64(len(pieces[k].code)) {
			continue
		}
		moved := uint64(pieces[k].at) - k*stride
		l.at += moved
		l.target += moved
		all[k] = append(all[k], l)
	}
	return all
}

// sameAt compares the moved instructions with the original ones: the same but
// for the forms that the package documents.
func sameAt(original, moved []line, covered addr.Run) error {
	for k, o := range original {
		want := []line{o}
		next := covered
		if k+1 < len(original) {
			next = addr.Run(original[k+1].at)
		}
		o.text = withoutPrefixes(o.text)
		mnemonic, _, _ := strings.Cut(o.text, " ")
		switch {
		case mnemonic == "call":
			jump := strings.Replace(o.text, "call", "jmp", 1)
			want = append(pushed(next), line{text: jump, target: o.target, far: true})
		case strings.HasPrefix(mnemonic, "loop"), mnemonic == "jrcxz", mnemonic == "jecxz":
			if len(moved) < 3 {
				return fmt.Errorf("%q has become %v", o.text, moved)
			}
			over := moved[2].at + 5
			want = []line{{text: mnemonic, target: moved[2].at, far: true}, {text: "jmp", target: over, far: true},
				{text: "jmp", target: o.target, far: true}}
		case strings.HasPrefix(mnemonic, "j"):
			want[0].text = strings.Replace(mnemonic, ",pt", "", 1) + strings.TrimPrefix(o.text, mnemonic)
		}
		if len(moved) < len(want) {
			return fmt.Errorf("%q is missing", o.text)
		}
		for n, w := range want {
			m := moved[n]
			if m.text != w.text || m.far != w.far || w.far && m.target != w.target {
				return fmt.Errorf("%q to %#x has become %q to %#x", w.text, w.target, m.text, m.target)
			}
		}
		moved = moved[len(want):]
	}
	if len(moved) > 0 && (moved[0].text != "jmp" || moved[0].target != uint64(covered)) || len(moved) > 1 {
		return fmt.Errorf("at the end: %v", moved)
	}
	return nil
}

// withoutPrefixes drops those that mean nothing to a relative branch.
func withoutPrefixes(text string) string {
	if _, call, ok := strings.Cut(text, " call"); ok {
		return "call" + call
	}
	if text == "bnd jmp" {
		return "jmp" // a relative one, whose target parseLine took away
	}
	return text
}

// pushed is the push of a return address.
func pushed(v addr.Run) []line {
	return []line{{text: "lea -0x8(%rsp),%rsp"},
		{text: fmt.Sprintf("movl $%#x,(%%rsp)", uint32(v))},
		{text: fmt.Sprintf("movl $%#x,0x4(%%rsp)", uint32(v>>32))}}
}

// A prologue is one that was moved.
type prologue struct {
	name     string
	original []byte
	from, to addr.Run
	Prologue
}

// checkDisassembly compares moved prologues with the original ones.
func checkDisassembly(t *testing.T, all []prologue) {
	t.Helper()
	var pieces []piece
	for _, p := range all {
		pieces = append(pieces, piece{p.from, p.original[:p.Covered]}, piece{p.to, p.Code})
	}
	lines := disassemble(t, pieces)
	for k, p := range all {
		if err := sameAt(withoutPadding(lines[2*k]), lines[2*k+1], p.from+addr.Run(p.Covered)); err != nil {
			t.Errorf("%s: % x at %v, % x at %v: %v", p.name, p.original[:p.Covered], p.from, p.Code, p.to, err)
		}
	}
}

// withoutPadding drops what follows an instruction that does not fall through.
func withoutPadding(lines []line) []line {
	for k, l := range lines {
		for _, leaving := range []string{"ret", "repz ret", "jmp", "bnd jmp", "notrack jmp", "ud2"} {
			if l.text == leaving || strings.HasPrefix(l.text, leaving+" ") {
				return lines[:k+1]
			}
		}
	}
	return lines
}

// code is what the only executable segment of a file holds, and its address in
// the file. Allocators are not always in .text: tcmalloc's are in google_malloc.
func code(t *testing.T, f *elf.File) ([]byte, uint64) {
	t.Helper()
	var found *elf.Prog
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			if found != nil {
				t.Fatal("two executable segments")
			}
			found = p
		}
	}
	bytes := make([]byte, found.Filesz)
	if _, err := found.ReadAt(bytes, 0); err != nil {
		t.Fatal(err)
	}
	return bytes, found.Vaddr
}
