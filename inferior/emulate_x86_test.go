package inferior

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"hdb/inferior/x86"
	"hdb/testprogs"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"
)

// scratch is memory of the inferior to run single instructions in.
type scratch struct {
	p          *Process
	t          *Thread
	code, data uint64
}

// The status flags CF, PF, AF, ZF, SF and OF.
const (
	flagAF      = 1 << 4
	statusFlags = 1<<0 | 1<<2 | flagAF | 1<<6 | 1<<7 | 1<<11
)

const scratchSize = 1 << 16

func newScratch(t testing.TB) *scratch {
	p, _ := launch(t, build(t, "threads"), "1", "1", "1")
	th := p.target.Threads()[0]
	a, err := th.Syscall(unix.SYS_MMAP, 0, 2*scratchSize, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		t.Fatal(err)
	}
	return &scratch{p: p, t: th, code: a, data: a + scratchSize}
}

// registers are random, with pointers into the scratch data in most of them
// and the stack in its middle.
func (s *scratch) registers(rng *rand.Rand, now Registers) Registers {
	r := now
	for n := range 16 {
		*r.Numbered(n) = rng.Uint64() >> (rng.UintN(8) * 8)
		if n%2 == 1 || rng.UintN(3) == 0 {
			*r.Numbered(n) = s.data + scratchSize/2 + uint64(rng.UintN(1000))
		}
	}
	r.Rsp = s.data + scratchSize/2
	r.Rip = s.code + 0x1000
	r.FsBase = r.Rsp + 64
	r.Eflags = r.Eflags&^statusFlags | rng.Uint64()&statusFlags
	r.OrigRax = ^uint64(0)
	return r
}

// check runs code by the processor and by emulation and compares everything.
func (s *scratch) check(t testing.TB, rng *rand.Rand, code []byte, now Registers) (emulated bool) {
	t.Helper()
	before := make([]byte, 4096)
	for i := range before {
		before[i] = byte(rng.Uint32())
	}
	binary.LittleEndian.PutUint64(before[2048:], s.code+rng.Uint64N(4096)) // for ret
	at := s.data + scratchSize/2 - 2048
	r := s.registers(rng, now)
	put := func(b []byte, a uint64) {
		if _, err := s.p.traps.WriteAt(b, int64(a)); err != nil {
			t.Fatal(err)
		}
	}
	put(before, at)
	put(append(bytes.Clone(code), 0x90, 0x90, 0x90), r.Rip)
	got := r
	step := x86.Decode(code, r.Rip)
	if step == nil || !step(threadMemory{s.t}, &got) {
		return false
	}
	gotData := make([]byte, len(before))
	if _, err := s.p.memory.ReadAt(gotData, int64(at)); err != nil {
		t.Fatal(err)
	}
	put(before, at)
	if err := s.t.SetRegs(r); err != nil {
		t.Fatal(err)
	}
	if stop, err := s.p.StepInstruction(s.t); err != nil || stop.Reason != Stepped {
		t.Fatalf("% x: %v %v %+v", code, stop.Reason, err, stop.Signal)
	}
	want, err := s.t.Regs()
	if err != nil {
		t.Fatal(err)
	}
	want.OrigRax = got.OrigRax
	const trapAndResume = 1<<8 | 1<<16
	want.Eflags &^= trapAndResume
	got.Eflags &^= trapAndResume
	if i, err := x86asm.Decode(code, 64); err == nil {
		switch i.Op { // these leave AF undefined
		case x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.TEST:
			want.Eflags &^= flagAF
		}
	}
	wantData := make([]byte, len(before))
	if _, err := s.p.memory.ReadAt(wantData, int64(at)); err != nil {
		t.Fatal(err)
	}
	if got != want || !bytes.Equal(gotData, wantData) {
		t.Errorf("% x from\n%+v\nemulated %+v\nreal     %+v\nmemory equal: %v", code, r, got, want, bytes.Equal(gotData, wantData))
	}
	return true
}

// TestEmulationEqualsProcessor compares first instructions of functions, and
// instructions found after calls, with the processor.
func TestEmulationEqualsProcessor(t *testing.T) {
	s := newScratch(t)
	now, err := s.t.Regs()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []string{
		"f30f1efa", "90", "0f1f00", "660f1f440000", "55", "53", "4154", "4157", "5d", "415c", "54", "5c", "c9", "c3", "f2c3",
		"6a01", "68ffffff80", "ff75f8", "e810000000", "e910000000", "eb10", "ffe0", "ffd3", "4889e5", "89f8", "4885ff", "85c0", "84c0",
		"31c0", "4831d2", "4829c4", "4883ec18", "4881ec88000000", "83e801", "4801d8", "00d8", "4883c420", "4839f8", "39c3",
		"38c3", "483d00100000", "83f801", "3c2f", "807d0000", "4883fffe", "48837d1000", "488d4424f8", "488d05f0ffffff", "8d4701",
		"488b05f0ffffff", "488b4424f8", "8b4508", "8a4508", "0fb64508", "0fb7c3", "0fbe4508", "4863c7", "488944240c",
		"894424f8", "c744240800000000", "48c744241001000000", "c6442408ff", "64488b042500000000", "48c7c0ffffffff",
		"b801000000", "48b8efcdab8967452301", "4889c7", "4989fc", "88d8", "4088f0", "09d8", "480bd8", "25ff000000", "4883e4f0", "a801",
		"7410", "7510", "7210", "7310", "7610", "7710", "7810", "7910", "7a10", "7b10", "7c10", "7d10", "7e10", "7f10", "7010", "7110",
		"0f8410000000", "0f8f10000000", "4c8b5c2408", "4c03642408", "483b442410", "f6442408ff", "4885442408",
	} {
		code, err := hex.DecodeString(c)
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for range 60 {
			if s.check(t, rng, code, now) {
				done++
			}
			if t.Failed() {
				return
			}
		}
		if done == 0 {
			t.Errorf("% x is never emulated", code)
		}
	}
}

// TestEmulationOfRandomCode lets no byte string be emulated wrongly.
func TestEmulationOfRandomCode(t *testing.T) {
	s := newScratch(t)
	now, err := s.t.Regs()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	n := 0
	rounds := testprogs.Rounds(15000, 60000)
	for range rounds {
		code := make([]byte, 12)
		for i := range code {
			code[i] = byte(rng.Uint32())
		}
		if rng.UintN(2) == 0 {
			code[0] = 0x40 | code[0]&15 // REX
		}
		if s.check(t, rng, code, now) {
			n++
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d of %d emulated", n, rounds)
	if n < rounds/60 {
		t.Errorf("only %d instructions emulated", n)
	}
}
