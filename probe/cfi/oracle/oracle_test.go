// Package oracle compares compiled CFI with what the OpenTelemetry eBPF profiler
// extracts from the same files. It is a module of its own, so that hdb does not
// depend on the profiler.
package oracle

import (
	"debug/elf"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"go.opentelemetry.io/ebpf-profiler/nativeunwind/elfunwindinfo"
	sdtypes "go.opentelemetry.io/ebpf-profiler/nativeunwind/stackdeltatypes"
	"go.opentelemetry.io/ebpf-profiler/support"
	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/symbols"
	"hdb/unwind"
)

// installed are the files to compare, by glob.
var installed = []struct{ name, glob, debianPackage string }{
	{"libc", "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6"},
	{"ld.so", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "libc6"},
	{"libstdc++", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "libstdc++6"},
	{"python3", "/usr/bin/python3", "python3"},
	{"libpython", "/usr/lib/x86_64-linux-gnu/libpython3.*[0-9].so.1.0", "libpython3.11"},
	{"bash", "/usr/bin/bash", "bash"},
	{"libcrypto", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "libssl3"},
	{"libLLVM", "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1", "libllvm14"},
}

// A module is a file, compiled both ways.
type module struct {
	path   string
	cfi    *unwind.Table
	table  *cfi.Table
	rules  []cfi.Rule
	deltas *sdtypes.IntervalData
	low    addr.File
	code   []byte // at low; holes between segments are zero
	bad    int    // unknown differences
}

func open(t *testing.T, glob, debianPackage string) *module {
	t.Helper()
	paths, _ := filepath.Glob(glob)
	if len(paths) == 0 {
		t.Fatalf("%s is missing (apt-get install %s)", glob, debianPackage)
	}
	m := &module{path: paths[len(paths)-1]}
	o, err := symbols.Open(m.path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if m.cfi, err = o.CFI(); err != nil {
		t.Fatal(err)
	}
	m.readCode(t)
	rules := cfi.NewRules()
	if m.table, err = cfi.Compile(m.cfi, m.low, m.low+addr.File(len(m.code)), m, rules); err != nil {
		t.Fatal(err)
	}
	m.rules = rules.List()
	if m.deltas, err = elfunwindinfo.Extract(m.path); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *module) readCode(t *testing.T) {
	t.Helper()
	f, err := elf.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		if m.code == nil {
			m.low = addr.File(p.Vaddr)
		}
		m.code = append(m.code, make([]byte, p.Vaddr+p.Filesz-uint64(m.low)-uint64(len(m.code)))...)
		if _, err := io.ReadFull(p.Open(), m.code[p.Vaddr-uint64(m.low):]); err != nil {
			t.Fatal(err)
		}
	}
}

// ReadAt implements io.ReaderAt for Compile.
func (m *module) ReadAt(b []byte, off int64) (int, error) {
	if off < int64(m.low) || off >= int64(m.low)+int64(len(m.code)) {
		return 0, io.EOF
	}
	if n := copy(b, m.code[off-int64(m.low):]); n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return len(b), nil
}

// calls visits the return address of each call instruction in code with CFI.
func (m *module) calls(visit func(addr.File)) {
	done := m.low
	for row := range m.cfi.Rows {
		if row.Function.Low < done {
			continue
		}
		done = row.Function.High
		for a := row.Function.Low; a < done && a >= m.low; {
			inst, err := x86asm.Decode(m.code[a-m.low:], 64)
			if err != nil || inst.Op == 0 {
				a++
				continue
			}
			a += addr.File(inst.Len)
			if inst.Op == x86asm.CALL {
				visit(a)
			}
		}
	}
}

// theirs is the profiler's rule for a file address, "nothing" where it has none.
func (m *module) theirs(a addr.File) string {
	bb := m.deltas.Find(uint64(a))
	if bb == nil {
		return "nothing"
	}
	off := uint32(uint64(a) - bb.Start)
	i := sort.Search(len(bb.Deltas), func(i int) bool { return bb.Deltas[i].Offset > off })
	if i == 0 {
		return "nothing"
	}
	return describe(bb.Deltas[i-1].Info)
}

var commands = map[int32]string{support.UnwindCommandInvalid: "invalid", support.UnwindCommandStop: "stop",
	support.UnwindCommandPLT: "plt", support.UnwindCommandSignal: "signal", support.UnwindCommandFramePointer: "frame pointer"}

var registers = map[uint8]string{support.UnwindRegSp: "rsp", support.UnwindRegFp: "rbp", support.UnwindRegX86RAX: "rax",
	support.UnwindRegX86RDI: "rdi", support.UnwindRegX86R8: "r8", support.UnwindRegX86R9: "r9", support.UnwindRegX86R11: "r11",
	support.UnwindRegX86R13: "r13", support.UnwindRegX86R15: "r15"}

// describe writes a rule of the profiler: c is the CFA, r the present rbp.
func describe(u sdtypes.UnwindInfo) string {
	if u.Flags&support.UnwindFlagCommand != 0 {
		return commands[u.Param]
	}
	text := fmt.Sprintf("%s%+d", registers[u.BaseReg], u.Param)
	if u.Flags&support.UnwindFlagDerefCfa != 0 {
		before, behind := sdtypes.UnpackDerefParam(u.Param)
		text = fmt.Sprintf("*(%s%+d)%+d", registers[u.BaseReg], before, behind)
	}
	switch {
	case u.Flags&support.UnwindFlagRegisterRA != 0:
		text += " ra=" + registers[u.AuxBaseReg]
	case u.AuxBaseReg == support.UnwindRegCfa:
		text += fmt.Sprintf(" rbp=c%+d", u.AuxParam)
	case u.AuxBaseReg == support.UnwindRegFp:
		text += fmt.Sprintf(" rbp=r%+d", u.AuxParam)
	}
	return text
}

// translated writes a rule of hdb as describe does. The profiler has no rbx, and does
// not tell a lost rbp from an unchanged one.
func translated(r cfi.Rule) string {
	var text string
	switch r.Form() {
	case cfi.SP:
		text = fmt.Sprintf("rsp%+d", r.Offset())
	case cfi.BP:
		text = fmt.Sprintf("rbp%+d", r.Offset())
	case cfi.BX:
		text = fmt.Sprintf("rbx%+d", r.Offset())
	case cfi.DerefBP:
		text = fmt.Sprintf("*(rbp%+d)+0", r.Offset())
	case cfi.PLT:
		return "plt"
	case cfi.Root, cfi.Entry:
		return "stop"
	case cfi.Signal:
		return "signal"
	case cfi.NoCFI:
		return "nothing"
	default:
		return "invalid"
	}
	switch {
	case r.Flags()&cfi.RBPAtCFA != 0:
		text += fmt.Sprintf(" rbp=c%+d", 8*int(r.RBPSlot()))
	case r.Flags()&cfi.RBPAtRBP != 0:
		text += fmt.Sprintf(" rbp=r%+d", 8*int(r.RBPSlot()))
	}
	return text
}

// differences is where the two may differ, and who is right.
var differences = []struct {
	why   string
	calls bool // occurs at call sites, not only at other addresses
	is    func(r cfi.Rule, theirs string) bool
}{
	// hdb is right: the row says rbx, which a called function keeps. ld.so's resolver has it.
	{"CFA in rbx", true, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.BX && theirs == "invalid"
	}},
	// The profiler is right, and the probe's walker has no form for it: assembly of
	// libcrypto that keeps the caller's rsp on its stack. It calls nothing but itself.
	{"CFA behind what lies at rsp", true, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.Unsupported && strings.HasPrefix(theirs, "*(rsp")
	}},
	// Neither is right at a call: the CFA is in a register that a call may overwrite. The
	// profiler means threads that are interrupted there, as the probe's walker never finds
	// one but below a signal handler. Also assembly of libcrypto.
	{"CFA in a register that calls overwrite", true, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.Unsupported && leafCFA.MatchString(theirs)
	}},
	// The profiler is right, and the probe's walker has no form for it: vfork, which has
	// popped its return address and calls nothing.
	{"return address in a register", false, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.Unsupported && strings.Contains(theirs, " ra=")
	}},
	// Both are right: rbp is popped, and gcc's CFI still says where from. What lies there,
	// below rsp, is intact: it is in the red zone (System V ABI, section 3.2.2).
	{"rbp saved below rsp", false, func(r cfi.Rule, theirs string) bool {
		below := r.Form() == cfi.SP && r.Flags()&cfi.RBPAtCFA != 0 && r.Offset()+8*int32(r.RBPSlot()) < 0
		return below && theirs == fmt.Sprintf("rsp%+d", r.Offset())
	}},
	// hdb is right: padding between functions has no CFI. The profiler joins functions that
	// have only padding between them.
	{"padding", false, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.NoCFI && theirs == "rsp+8"
	}},
	// Neither matters: padding behind the first function, which hdb takes for more of it.
	{"behind the entry point", false, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.Entry && theirs == "nothing"
	}},
	// Neither matters: hdb takes the first byte of an FDE with the augmentation S for what
	// handlers return to, and so the byte before it for the address that is looked up.
	// libc's FDE begins that one byte early of its own accord.
	{"before a trampoline", false, func(r cfi.Rule, theirs string) bool {
		return r.Form() == cfi.Signal && theirs == "nothing"
	}},
}

var leafCFA = regexp.MustCompile(`^r(ax|di|8|9|11|13|15)[+-]`)

// compare looks up one address on both sides, and counts known differences.
func (m *module) compare(t *testing.T, a addr.File, call bool, known map[string]int) {
	t.Helper()
	rule, theirs := m.rules[m.table.At(a)], m.theirs(a)
	if translated(rule) == theirs {
		return
	}
	for _, d := range differences {
		if (d.calls || !call) && d.is(rule, theirs) {
			known[d.why]++
			return
		}
	}
	if m.bad++; m.bad < 20 {
		t.Errorf("%v: %v, the profiler has %s", a, rule, theirs)
	}
}

// TestAgainstProfiler: at all call sites, where return addresses are looked up, and at
// the first byte of every row.
func TestAgainstProfiler(t *testing.T) {
	for _, file := range installed {
		t.Run(file.name, func(t *testing.T) {
			if paths, _ := filepath.Glob(file.glob); len(paths) == 0 && file.name == "libLLVM" {
				t.Skipf("no library of 50 MB and more: %s (apt-get install %s)", file.glob, file.debianPackage)
			}
			if testing.Short() && file.name == "libLLVM" {
				t.Skip("a million rows, not with -short")
			}
			t.Parallel()
			m := open(t, file.glob, file.debianPackage)
			calls, atCalls, atRows := 0, map[string]int{}, map[string]int{}
			m.calls(func(ra addr.File) {
				calls++
				m.compare(t, ra-1, true, atCalls)
			})
			for _, off := range m.table.Offs {
				m.compare(t, m.low+addr.File(off), false, atRows)
			}
			if calls < 1000 {
				t.Errorf("only %d calls", calls)
			}
			t.Logf("%s: %d calls, differences %v; %d rows, differences %v", filepath.Base(m.path), calls, atCalls, len(m.table.Offs), atRows)
		})
	}
}
