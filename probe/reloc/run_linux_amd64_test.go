package reloc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"hdb/internal/addr"
)

// state is what enter_code of testdata/prologues.s loads and stores.
type state struct {
	regs    [16]uint64 // by their numbers in instructions: rax rcx rdx rbx rsp rbp rsi rdi r8 ...
	flags   uint64
	target  uint64 // the function to call
	goStack uint64 // Go's stack pointer, meanwhile
}

const (
	rcx = 1
	rsp = 4
	rsi = 6
	rdi = 7
)

// The lab reserves 4 GiB of addresses, so that code can be moved nearly as far
// as rel32 reaches. The functions lie in the middle.
const (
	labSize   = 4 << 30
	textAt    = labSize / 2
	textRoom  = 16 << 10
	bufferAt  = textAt + textRoom // what %rdi points to
	bufferLen = 1024
	stackAt   = bufferAt + 4096
	stackLen  = 4096
	nearAt    = textAt + 64<<10
	belowAt   = textAt - (2<<30 - 256<<10)
	aboveAt   = textAt + (2<<30 - 256<<10)
	moveAt    = nearAt + 4096 // for the way into the middle of a prologue
)

// A lab is memory to run code in.
type lab struct {
	mem     []byte
	text    []byte // as assembled, with slot filled in
	symbols map[string]elf.Symbol
}

// assemble makes an object file of testdata/prologues.s.
func assemble(t *testing.T) *elf.File {
	t.Helper()
	object := filepath.Join(t.TempDir(), "prologues.o")
	if out, err := exec.Command("gcc", "-c", "-o", object, "testdata/prologues.s").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v (Debian package build-essential)\n%s", err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func newLab(t *testing.T) *lab {
	t.Helper()
	f := assemble(t)
	text, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(-1, 0, labSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, part := range [][2]int{{textAt, 128 << 10}, {belowAt, 4096}, {aboveAt, 4096}} {
		if err := unix.Mprotect(mem[part[0]:part[0]+part[1]], unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC); err != nil {
			t.Fatal(err)
		}
	}
	l := &lab{mem, text, map[string]elf.Symbol{}}
	for _, s := range symbols {
		l.symbols[s.Name] = s
	}
	binary.LittleEndian.PutUint64(text[l.symbols["slot"].Value:], uint64(l.addr(textAt))+l.symbols["returns_to"].Value)
	return l
}

// addr is the address of mem[n].
func (l *lab) addr(n int) addr.Run { return addr.Run(uintptr(unsafe.Pointer(&l.mem[n]))) }

// run calls the function at mem[at:].
func (l *lab) run(at int, s state) (after state, memory []byte) {
	copy(l.mem[textAt+l.symbols["data"].Value:], l.text[l.symbols["data"].Value:])
	for n := range bufferLen {
		l.mem[bufferAt+n] = byte(n * 7)
	}
	clear(l.mem[stackAt : stackAt+stackLen])
	s.regs[rsp] = uint64(l.addr(stackAt + stackLen - 512))
	s.regs[rdi] = uint64(l.addr(bufferAt))
	s.regs[rsi] = uint64(l.addr(bufferAt + bufferLen/2))
	s.target = uint64(l.addr(at))
	enter := l.addr(textAt) + addr.Run(l.symbols["enter_code"].Value)
	closure := &enter // a func value points to a word with the address of its code
	(*(*func(*state))(unsafe.Pointer(&closure)))(&s)
	s.goStack, s.target = 0, 0
	data := l.mem[textAt+l.symbols["data"].Value : textAt+l.symbols["target"].Value]
	// The stack holds the address of s below the frame of the function called.
	stack := l.mem[stackAt : stackAt+stackLen-512-8]
	return s, bytes.Join([][]byte{data, l.mem[bufferAt : bufferAt+bufferLen], stack}, nil)
}

// inputs are registers and flags to call functions with.
func inputs(name string) []state {
	random := rand.New(rand.NewPCG(1, 2))
	counts := []uint64{0, 1, 2, 9}
	if strings.HasPrefix(name, "loops") || strings.HasPrefix(name, "jumps") {
		counts = append(counts, 1<<32, 1<<32+1)
	}
	const arithmetic = 0x8d5 // OF SF ZF AF PF CF
	var all []state
	for n := range 64 {
		var s state
		for r := range s.regs {
			s.regs[r] = random.Uint64() >> random.IntN(60)
		}
		s.regs[rcx] = counts[n%len(counts)]
		s.flags = random.Uint64()&arithmetic | 0x202
		all = append(all, s)
	}
	return all
}

// patch writes the functions anew, with a jump from function to target over
// the covered bytes. The rest of those are int3, which must not be reached.
func (l *lab) patch(function elf.Symbol, covered, target int) {
	copy(l.mem[textAt:], l.text)
	start := textAt + int(function.Value)
	entry := l.mem[start:]
	copy(entry[:covered], bytes.Repeat([]byte{0xcc}, covered))
	entry[0] = 0xe9
	binary.LittleEndian.PutUint32(entry[1:], uint32(target-start-5))
}

// compare runs the function as it is and as it is patched.
func (l *lab) compare(t *testing.T, function elf.Symbol, covered, target int) {
	t.Helper()
	at := textAt + int(function.Value)
	for _, in := range inputs(function.Name) {
		copy(l.mem[textAt:], l.text)
		want, wantMemory := l.run(at, in)
		l.patch(function, covered, target)
		got, gotMemory := l.run(at, in)
		if got != want {
			t.Fatalf("with %x\n got %x\nwant %x", in, got, want)
		}
		if !bytes.Equal(gotMemory, wantMemory) {
			t.Fatalf("with %x: memory differs", in)
		}
	}
}

// processorHas tells whether all flags are in /proc/cpuinfo.
func processorHas(t *testing.T, flags ...string) bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(info))
	have := map[string]bool{}
	for _, w := range words {
		have[w] = true
	}
	for _, f := range flags {
		if !have[f] {
			return false
		}
	}
	return true
}

func TestMovedPrologueDoesTheSame(t *testing.T) {
	l := newLab(t)
	var moved []prologue
	for _, function := range l.symbols {
		if elf.ST_TYPE(function.Info) != elf.STT_FUNC || function.Name == "enter_code" {
			continue
		}
		t.Run(function.Name, func(t *testing.T) {
			runtime.LockOSThread() // thread_pointer must find the same each time
			defer runtime.UnlockOSThread()
			for prefix, flags := range map[string][]string{"avx_": {"avx2", "bmi1", "bmi2"}, "avx512_": {"avx512f", "avx512vl"}} {
				if strings.HasPrefix(function.Name, prefix) && !processorHas(t, flags...) {
					t.Skipf("this processor lacks one of %v", flags)
				}
			}
			for _, to := range []int{nearAt, belowAt, aboveAt} {
				for _, need := range []int{5, 9, 14} {
					moved = append(moved, l.move(t, function, to, need)...)
				}
			}
		})
	}
	checkDisassembly(t, moved)
	longest := slices.MaxFunc(moved, func(a, b prologue) int { return len(a.Code) - len(b.Code) })
	if longest.name != "longest" || len(longest.Code) != MaxCode {
		t.Errorf("%s has the longest code, %d bytes; MaxCode says %d", longest.name, len(longest.Code), MaxCode)
	}
}

// move moves the prologue of a function to mem[to:], compares what it does, and
// returns it. Where more than 5 bytes are needed it may be refused.
func (l *lab) move(t *testing.T, function elf.Symbol, to, need int) []prologue {
	code := l.text[function.Value:]
	from := l.addr(textAt + int(function.Value))
	p, err := Relocate(code, int(function.Size), from, l.addr(to), need)
	if err != nil {
		if need > 5 {
			return nil
		}
		t.Fatal(err)
	}
	if err := BranchesInto(code[:function.Size], from, p.Covered); err != nil {
		if need > 5 {
			return nil
		}
		t.Fatal(err)
	}
	copy(l.mem[to:], p.Code)
	l.compare(t, function, p.Covered, to)
	for _, m := range p.Moves {
		// What lies before the boundary runs at moveAt, what lies behind in
		// the moved prologue, as for a thread that was moved between them.
		before, err := Relocate(code, int(function.Size), from, l.addr(moveAt), m.From)
		if err != nil || before.Covered != m.From {
			t.Fatalf("up to +%d: covers %d, %v", m.From, before.Covered, err)
		}
		copy(l.mem[moveAt:], before.Code)
		end := moveAt + len(before.Code)
		binary.LittleEndian.PutUint32(l.mem[end-4:], uint32(to+m.To-end))
		l.compare(t, function, p.Covered, moveAt)
	}
	return []prologue{{function.Name, code, from, l.addr(to), p}}
}
