package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/internal/golden"

	"golang.org/x/arch/x86/x86asm"
)

// A drawing is a probe whose parts lie at round addresses.
func drawing(t *testing.T, request Request, fsgsbase bool) (*Probe, *site) {
	t.Helper()
	const state = 0x100000000000
	c, err := loadCore(state)
	if err != nil {
		t.Fatal(err)
	}
	p := newProbe(nil, Config{})
	p.core, p.fsgsbase, p.conditions.request = c, fsgsbase, request
	p.remote = remote{state: state, file: 0x200000000000, ring: 0x300000000000, core: 0x400000000000}
	s := &site{Site: &breakpoints.Site{}, patched: patched{moved: moved{relocated: 0x7f0000000100}}}
	return p, s
}

// listing is code one instruction a line, with names for addresses.
func listing(t *testing.T, at addr.Run, code []byte, names map[uint64]string) string {
	t.Helper()
	var b strings.Builder
	name := func(a uint64) (string, uint64) {
		if n := names[a]; n != "" {
			return n, a
		}
		return "", 0
	}
	for i := 0; i < len(code); {
		in, err := x86asm.Decode(code[i:], 64)
		if err != nil {
			t.Fatalf("at %#x: %v: % x", i, err, code[i:min(i+16, len(code))])
		}
		text := x86asm.GNUSyntax(in, uint64(at)+uint64(i), name)
		if in.Op == x86asm.MOV {
			if v, ok := in.Args[1].(x86asm.Imm); ok && names[uint64(v)] != "" {
				text = strings.Replace(text, fmt.Sprintf("$%#x", uint64(v)), "$"+names[uint64(v)], 1)
			}
		}
		fmt.Fprintf(&b, "%4x  %s\n", i, text)
		i += in.Len
		if in.Op == x86asm.JMP && in.Len == 6 { // far: the target follows
			fmt.Fprintf(&b, "%4x  .quad %s\n", i, names[binary.LittleEndian.Uint64(code[i:])])
			i += 8
		}
	}
	return b.String()
}

// What thunks look like, for each form and each way to know the thread.
func TestThunks(t *testing.T) {
	const at, desc = 0x7f0000001000, 0x7f0000000800
	for _, c := range []struct {
		name, symbol, stop string
		fsgsbase           bool
	}{
		{"core.malloc.fsgsbase", "malloc", "", true},
		{"core.free.tcb", "free", "", false},
		{"quick.malloc.fsgsbase", "malloc", "alloc if size >= 1MiB", true},
		{"quick.malloc.tcb", "malloc", "alloc if size >= 1MiB", false},
		{"quick.free.fsgsbase", "free", "free if addr == 0x5000", true},
		{"quick.free.release", "free", "alloc if size >= 1MiB", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := Request{Record: true}
			if c.stop != "" {
				request = stopsAt(t, c.stop)
			}
			p, s := drawing(t, request, c.fsgsbase)
			s.Function = catalogued(t, c.symbol)
			if strings.HasSuffix(c.name, "release") {
				s.Release = breakpoints.Extent{Low: 0x7f0000200000, High: 0x7f000020012e}
			}
			w := &writer{at: at}
			switch quick, ok := p.conditions.quickFilter(s); {
			case ok != (c.stop != ""):
				t.Fatalf("quick %v", ok)
			case ok && s.Function.Frees():
				p.siteTable.quickFree(w, s, desc, quick)
			case ok:
				framed := p.siteTable.quickAlloc(w, s, desc, quick)
				if call := framed[0] - at; w.code[call] != 0xe8 || framed[0]+quickCall+2 != framed[1] {
					t.Errorf("the call is not at %#x, or the frame does not end behind it and a pop", call)
				}
			default:
				p.siteTable.coreThunk(w, s, desc)
			}
			if w.errs != nil || len(w.code) > maxThunk {
				t.Fatal(len(w.code), w.errs)
			}
			key := map[bool][]byte{true: {0xf3, 0x48, 0x0f, 0xae, 0xc0}, false: {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}}[c.fsgsbase]
			if !bytes.HasPrefix(w.code[w.key-at:], key) {
				t.Errorf("the thread's key is not read at %#x", w.key-at)
			}
			names := map[uint64]string{
				desc: "site", uint64(s.relocated): "relocated", uint64(p.remote.file) + fileSlots: "slots",
				uint64(p.siteTable.coreEntry(s)): map[bool]string{true: "enterFree", false: "enterAlloc"}[s.Function.Frees()],
			}
			golden.Check(t, c.name+".disasm", []byte(listing(t, at, w.code, names)))
		})
	}
}

// The thunk of _Unwind_Find_FDE answers for each piece of the probe's code.
func TestFinderThunk(t *testing.T) {
	p, s := drawing(t, Request{}, true)
	p.islands.framed = []framed{{0x400000000000, 0x400000001800, 0x400000001820}, {0x7f0000000000, 0x7f0000100000, 0x7f0000000018}}
	w := &writer{at: 0x7f0000002000}
	p.siteTable.findFDE(w, s.relocated)
	if w.errs != nil {
		t.Fatal(w.errs)
	}
	names := map[uint64]string{
		uint64(s.relocated): "relocated", 0x400000000000: "core", 0x400000001820: "fdeOfCore",
		0x7f0000000000: "island", 0x7f0000000018: "fdeOfIsland",
	}
	golden.Check(t, "finder.disasm", []byte(listing(t, w.at, w.code, names)))
}

func TestWriterReach(t *testing.T) {
	for _, c := range []struct {
		at, to addr.Run
		ok     bool
	}{
		{0x1000, 0x1005 + 1<<31 - 1, true}, {0x1000, 0x1005 + 1<<31, false},
		{1 << 40, 1<<40 + 5 - 1<<31, true}, {1 << 40, 1<<40 + 4 - 1<<31, false},
	} {
		w := &writer{at: c.at}
		w.jmp(c.to)
		if (w.errs == nil) != c.ok {
			t.Errorf("jump from %v to %v: %v", c.at, c.to, w.errs)
		}
		w = &writer{at: c.at}
		w.far(c.to)
		if w.errs != nil || !bytes.Equal(w.code[:6], []byte{0xff, 0x25, 0, 0, 0, 0}) {
			t.Errorf("far jump: % x %v", w.code, w.errs)
		}
	}
}

// The jump over a function's first instructions, and what is left of these.
func TestLead(t *testing.T) {
	f := &patched{entry: 0x7f0000300000, moved: moved{first: make([]byte, 9)}}
	if err := f.lead(0x7f0000001000); err != nil {
		t.Fatal(err)
	}
	if want := []byte{0xe9, 0xfb, 0x0f, 0xd0, 0xff, 0xcc, 0xcc, 0xcc, 0xcc}; !bytes.Equal(f.jump, want) {
		t.Errorf("% x, want % x", f.jump, want)
	}
	if err := f.lead(0x7e0000001000); err == nil {
		t.Error("a jump too far")
	}
}
