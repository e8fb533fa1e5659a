package reloc

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// A library is a file's code, as it is and as objdump reads it. Addresses are
// those of the file.
type library struct {
	path    string
	text    []byte
	textAt  uint64
	lines   []line
	symbols []elf.Symbol // functions whose size is known, one of each address
}

func openLibrary(t *testing.T, path string) *library {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &library{path: path}
	l.text, l.textAt = code(t, f)
	l.lines = objdump(t, "-d", "--no-show-raw-insn", path)
	dynamic, _ := f.DynamicSymbols()
	symbols, _ := f.Symbols()
	for _, s := range slices.Concat(dynamic, symbols) {
		kind := elf.ST_TYPE(s.Info)
		if (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) && s.Size > 0 &&
			s.Value >= l.textAt && s.Value+s.Size <= l.textAt+uint64(len(l.text)) {
			l.symbols = append(l.symbols, s)
		}
	}
	slices.SortFunc(l.symbols, func(a, b elf.Symbol) int { return int(int64(a.Value - b.Value)) })
	l.symbols = slices.CompactFunc(l.symbols, func(a, b elf.Symbol) bool { return a.Value == b.Value })
	return l
}

// within are the lines in [from, to).
func (l *library) within(from, to uint64) []line {
	find := func(at uint64) int {
		n, _ := slices.BinarySearchFunc(l.lines, at, func(l line, at uint64) int { return int(int64(l.at - at)) })
		return n
	}
	return l.lines[find(from):find(to)]
}

// unknownToUs are instructions that x86asm does not know. They are refused.
var unknownToUs = []string{"rdpkru", "wrpkru", "rdseed", "rdsspq", "incsspq", "rstorssp", "saveprevssp", "xsavec", "(bad)"}

// checkLengths decodes every instruction.
func (l *library) checkLengths(t *testing.T) {
	for k, want := range l.lines[:len(l.lines)-1] {
		length := int(l.lines[k+1].at - want.at)
		i, err := decode(l.text[want.at-l.textAt:])
		switch {
		case err != nil:
			if !slices.Contains(unknownToUs, strings.Fields(want.text)[0]) {
				t.Errorf("%s: %#x %s: %v", l.path, want.at, want.text, err)
			}
		case len(i.raw) == 1 && i.raw[0] == 0x9b: // fwait, which objdump takes for a part of fstcw
		case len(i.raw) != length && !l.lines[k+1].first:
			t.Errorf("%s: %#x %s: %d bytes, want %d", l.path, want.at, want.text, len(i.raw), length)
		default:
			if target, ok := i.refersTo(addr.Run(want.at)); ok != want.far || ok && uint64(target) != want.target {
				t.Errorf("%s: %#x %s: refers to %v, %v, want %#x, %v", l.path, want.at, want.text, target, ok, want.target, want.far)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// checkFunctions moves the beginning of every function, whether or not anyone
// wants to patch it. It returns the reasons of those refused.
func (l *library) checkFunctions(t *testing.T) map[string][]string {
	refused := map[string][]string{}
	var moved []prologue
	for _, s := range l.symbols {
		code := l.text[s.Value-l.textAt:]
		from := addr.Run(s.Value)
		p, err := Relocate(code, int(s.Size), from, from+1<<30, 5)
		if err != nil {
			refused[reasonOf(err)] = append(refused[reasonOf(err)], s.Name)
			continue
		}
		if len(p.Code) > MaxCode {
			t.Errorf("%s: %s: %d bytes", l.path, s.Name, len(p.Code))
		}
		moved = append(moved, prologue{s.Name, code, from, from + 1<<30, p})
		if l.checkBranches(t, s, p.Covered) {
			refused["branch"] = append(refused["branch"], s.Name)
		}
	}
	checkDisassembly(t, moved)
	return refused
}

// reasonOf is the error without its numbers.
func reasonOf(err error) string {
	text := err.Error()
	for _, reason := range []string{"not padding", "not aligned", "is replaced", "unknown instruction", "depends on where", "loop to the entry", "int3"} {
		if strings.Contains(text, reason) {
			return reason
		}
	}
	return text
}

// checkBranches compares BranchesInto with objdump, and tells whether it found
// one.
func (l *library) checkBranches(t *testing.T, s elf.Symbol, covered int) bool {
	want := false
	for _, line := range l.within(s.Value, s.Value+s.Size) {
		want = want || line.far && line.target > s.Value && line.target < s.Value+uint64(covered)
	}
	err := BranchesInto(l.text[s.Value-l.textAt:][:s.Size], addr.Run(s.Value), covered)
	if want != (err != nil) {
		t.Errorf("%s: %s: %v, want an error: %v", l.path, s.Name, err, want)
	}
	return want
}

// TestEveryFunction is about functions in general, so that the allocator that
// is met next holds no surprise.
func TestEveryFunction(t *testing.T) {
	const lib = "/usr/lib/x86_64-linux-gnu/"
	paths := []string{lib + "libmimalloc.so.2", lib + "libtcmalloc.so.4", lib + "ld-linux-x86-64.so.2"}
	if !testing.Short() {
		paths = append(paths, lib+"libc.so.6", "/usr/lib/x86_64-linux-musl/libc.so", lib+"libjemalloc.so.2",
			lib+"libstdc++.so.6", lib+"libm.so.6")
	}
	for _, path := range paths {
		l := openLibrary(t, path)
		l.checkLengths(t)
		refused := l.checkFunctions(t)
		count := 0
		for _, names := range refused {
			count += len(names)
		}
		if count*100 > len(l.symbols)+100 {
			t.Errorf("%s: too many are refused", path)
		}
		t.Logf("%s: %d instructions, %d functions, %d refused: %v", path, len(l.lines), len(l.symbols), count, refused)
	}
}
