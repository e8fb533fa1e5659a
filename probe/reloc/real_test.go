package reloc

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/testprogs"
)

// bias is where the files of these tests are taken to be loaded.
const bias addr.Run = 0x7f0000000000

// functionNames are the linker's names of what the probe patches.
func functionNames() map[string]bool {
	names := map[string]bool{"_Unwind_Find_FDE": true, "_dl_debug_state": true, "malloc_slow": true}
	for _, f := range breakpoints.Catalogue() {
		names[f.Symbol] = true
	}
	return names
}

// A realFunction is one of a file.
type realFunction struct {
	name string
	at   addr.Run
	size int
	code []byte // of the function, and of what follows it
}

// A realFile is the functions of a file that the probe patches, one of each
// address, and all its code.
type realFile struct {
	functions []realFunction
	names     map[string]bool // theirs, and those of others at the same addresses
	text      []byte
	textAt    addr.Run
}

func readFile(t *testing.T, path string) realFile {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, textAt := code(t, f)
	file := realFile{names: map[string]bool{}, text: text, textAt: bias + addr.Run(textAt)}
	dynamic, _ := f.DynamicSymbols() // a static program has none
	symbols, _ := f.Symbols()        // a stripped one has none
	wanted := functionNames()
	found := map[uint64]bool{}
	for _, s := range slices.Concat(dynamic, symbols) {
		at := s.Value - textAt
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || !wanted[s.Name] || at >= uint64(len(text)) {
			continue
		}
		file.names[s.Name] = true
		if !found[s.Value] {
			found[s.Value] = true
			file.functions = append(file.functions, realFunction{s.Name, bias + addr.Run(s.Value), int(s.Size), text[at:]})
		}
	}
	return file
}

// refusals are the functions that cannot be patched and why, by file and name.
type refusals map[string]string

// checkFile moves the functions of a file.
func checkFile(t *testing.T, path, names string, want refusals) {
	t.Helper()
	file := readFile(t, path)
	for _, name := range strings.Fields(names) {
		if !file.names[name] {
			t.Errorf("%s: no %s", path, name)
		}
	}
	var moved []prologue
	refused := refusals{}
	for _, f := range file.functions {
		for _, to := range []addr.Run{f.at + 1<<30, f.at - 1<<30} {
			p, err := Relocate(f.code, f.size, f.at, to, 5)
			if err == nil && to > f.at {
				err = file.branches(f, p.Covered)
			}
			if err != nil {
				refused[f.name] = err.Error()
				continue
			}
			moved = append(moved, prologue{f.name, f.code, f.at, to, p})
			checkUnsized(t, f, to, p)
		}
	}
	checkDisassembly(t, moved)
	for name, reason := range refused {
		if want[name] == "" || !strings.Contains(reason, want[name]) {
			t.Errorf("%s: %s: %s", path, name, reason)
		}
	}
	for name := range want {
		if refused[name] == "" {
			t.Errorf("%s: %s is not refused", path, name)
		}
	}
	t.Logf("%s: %d functions, %d refused: %v", path, len(file.functions), len(refused), refused)
}

// branches looks for branches to the first bytes of f in f and in the file.
func (r realFile) branches(f realFunction, covered int) error {
	if err := BranchesInto(f.code[:f.size], f.at, covered); err != nil {
		return err
	}
	return BranchesFrom(r.text, r.textAt, f.at, covered)
}

// checkUnsized moves a function without knowing its size: refused, or the same.
func checkUnsized(t *testing.T, f realFunction, to addr.Run, want Prologue) {
	t.Helper()
	got, err := Relocate(f.code, 0, f.at, to, 5)
	if err != nil && want.Covered <= f.size {
		t.Errorf("%s without size: %v", f.name, err)
	}
	if err == nil && (got.Covered != want.Covered || string(got.Code) != string(want.Code)) {
		t.Errorf("%s without size: %+v, want %+v", f.name, got, want)
	}
	if len(want.Code) > MaxCode {
		t.Errorf("%s: %d bytes", f.name, len(want.Code))
	}
}

func TestAllocatorsOfLibraries(t *testing.T) {
	const lib = "/usr/lib/x86_64-linux-gnu/"
	const c = "malloc calloc realloc free aligned_alloc posix_memalign"
	for _, tc := range []struct {
		path          string
		debianPackage string
		names         string // that must be among those found
		refused       refusals
	}{
		{lib + "libc.so.6", "libc6", c + " memalign valloc pvalloc reallocarray mmap munmap mremap brk sbrk", nil},
		{lib + "ld-linux-x86-64.so.2", "libc6", "_dl_debug_state", nil},
		{"/usr/lib/x86_64-linux-musl/libc.so", "musl", c + " memalign mmap munmap mremap brk sbrk _dl_debug_state", nil},
		{lib + "libjemalloc.so.2", "libjemalloc2", c + " mallocx rallocx dallocx sdallocx _Znwm _ZdlPv", nil},
		{lib + "libtcmalloc.so.4", "libgoogle-perftools4", c + " mmap sbrk tc_malloc tc_new _Znwm _ZdlPvm", nil},
		{lib + "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", c + " tc_malloc _Znwm _ZdlPvm", nil},
		{lib + "libtcmalloc_minimal_debug.so.4", "libtcmalloc-minimal4", c + " tc_malloc _Znwm _ZdlPvm", nil},
		{lib + "libmimalloc.so.2", "libmimalloc2.0", c + " mi_malloc mi_free mi_heap_malloc _Znwm _ZdlPvm", nil},
		{lib + "libstdc++.so.6", "libstdc++6", "_Znwm _Znam _ZnwmSt11align_val_t _ZdlPv _ZdlPvm", nil},
		{lib + "libgcc_s.so.1", "libgcc-s1", "_Unwind_Find_FDE", nil},
		{lib + "libasan.so.8", "libasan8", c + " mmap _Znwm _ZdlPvm", nil},
	} {
		if _, err := os.Stat(tc.path); err != nil {
			t.Errorf("%v (Debian package %s)", err, tc.debianPackage)
			continue
		}
		checkFile(t, tc.path, tc.names, tc.refused)
	}
}

func TestAllocatorsOfStaticPrograms(t *testing.T) {
	checkFile(t, testprogs.Build(t, "static"), "malloc calloc realloc free memalign mmap munmap mremap brk sbrk _Unwind_Find_FDE _dl_debug_state", nil)
	checkFile(t, testprogs.Build(t, "static", "CC=musl-gcc"), "malloc realloc free mmap munmap", nil)
	checkFile(t, testprogs.Build(t, "golang"), "runtime.mallocgc", nil)
}

func TestAllocatorsAsCompiled(t *testing.T) {
	// Where functions are not aligned, the next one may follow at once.
	short := func(more refusals, names ...string) refusals {
		all := maps.Clone(more)
		for _, name := range names {
			all[name] = "what follows is not padding"
		}
		return all
	}
	for _, tc := range []struct {
		command string
		refused refusals
	}{
		{"gcc -O0", nil},
		{"gcc -O1", short(refusals{}, "pvalloc", "free_aligned_sized")},
		{"gcc -O2", nil},
		{"gcc -O3 -mavx2", nil},
		{"gcc -Os", short(refusals{"malloc_slow": "may branch to +2"}, "valloc", "pvalloc", "free_aligned_sized")},
		{"gcc -O2 -fcf-protection=full", nil},
		{"gcc -O2 -fno-plt", nil},
		{"gcc -O2 -pg", nil},
		{"gcc -O2 -pg -mfentry", nil},
		{"gcc -O2 -pg -fno-pic", nil},
		{"gcc -O2 -pg -mfentry -fno-pic -fcf-protection=full", nil},
		{"gcc -O2 -fpatchable-function-entry=8", nil},
		{"gcc -O2 -fpatchable-function-entry=8,3", nil},
		{"gcc -O1 -fpatchable-function-entry=8", nil},
		{"gcc -O2 -fsplit-stack", nil},
		{"gcc -O2 -fstack-protector-all -fstack-clash-protection", nil},
		{"gcc -O2 -fsanitize=address", nil},
		{"gcc -O2 -finstrument-functions", nil},
		{"clang -O0", nil},
		{"clang -O2", nil},
		{"clang -O3 -mavx512f -mavx512vl", nil},
		{"clang -Oz", short(refusals{}, "valloc", "pvalloc", "free_aligned_sized")},
		{"clang -O2 -fcf-protection=full", nil},
		{"clang -O2 -fpatchable-function-entry=8", nil},
		{"clang -O2 -pg", nil},
		{"clang -O2 -pg -mfentry", nil},
		{"musl-gcc -O2", nil},
	} {
		t.Run(tc.command, func(t *testing.T) {
			checkFile(t, compile(t, tc.command), "malloc free calloc realloc brk sbrk malloc_slow", tc.refused)
		})
	}
}

// compile makes a library or a program of testdata/allocator.c.
func compile(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	path := filepath.Join(t.TempDir(), "allocator.so")
	args := append(words[1:], "-fno-builtin", "-nostdlib", "-o", path, "testdata/allocator.c")
	if slices.Contains(args, "-fno-pic") {
		args = append(args, "-no-pie", "-Wl,-e,malloc,--unresolved-symbols=ignore-all")
	} else {
		args = append(args, "-fPIC", "-shared")
	}
	if out, err := exec.Command(words[0], args...).CombinedOutput(); err != nil {
		packages := map[string]string{"gcc": "build-essential", "clang": "clang", "musl-gcc": "musl-tools"}
		t.Fatal(fmt.Errorf("%s: %w (Debian package %s)\n%s", command, err, packages[words[0]], out))
	}
	return path
}
