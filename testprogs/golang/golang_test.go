// Package golang holds what hdb says of Go programs against what their runtimes count, for
// each minor version whose runtime it follows in the process.
package golang

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior/machine"
	"hdb/testprogs"
)

// toolchains are those that programs are built with: the one that builds hdb, and one of each
// minor version, which go downloads. The short form has the oldest and the newest.
func toolchains() []string {
	if testing.Short() {
		return []string{"local", "go1.18.10", "go1.27.4"}
	}
	return []string{"local", "go1.18.10", "go1.19.13", "go1.20.14", "go1.21.13", "go1.22.12", "go1.23.12", "go1.24.9", "go1.25.4", "go1.27.4"}
}

// outerToolchains are toolchains; in the short form the oldest and the newest.
func outerToolchains() []string {
	if testing.Short() {
		return toolchains()[1:]
	}
	return toolchains()
}

// build builds the program in testdata with a toolchain.
func build(t *testing.T, name, toolchain string, flags ...string) string {
	t.Helper()
	return buildIn(t, nil, name, toolchain, flags...)
}

// buildIn is build with more in the environment.
func buildIn(t *testing.T, env []string, name, toolchain string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join("testdata", name, "main.go")
	if strings.HasSuffix(name, ".go") {
		path, name = filepath.Join("testdata", name), "program"
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"go.mod": []byte("module program\n\ngo 1.18\n"), "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(testprogs.Tool(t, "go"), append(append([]string{"build", "-o", name}, flags...), "main.go")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=", "GOWORK=off", testprogs.EagerGo)
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build with %s: %v\n%s", toolchain, err, out)
	}
	return filepath.Join(dir, name)
}

// counts are of blocks made and found dead; those that share a slot die as one.
type counts struct{ allocs, frees uint64 }

// TestCounts records what the stress program allocates, and compares it with what the
// runtime has counted: no event is missing, and none too many.
func TestCounts(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			forms := [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}}
			if testing.Short() && toolchain != "local" {
				forms = forms[:2] // the third has the whole library compiled anew
			}
			for _, flags := range forms {
				program := build(t, "stress", toolchain, flags...)
				compareOn(t, without, program, "600")
				path := compare(t, program, "3000")
				if b, err := exec.Command(testprogs.HDB(t), "assert", "--no-leaks", path).CombinedOutput(); err != nil || !strings.Contains(string(b), "of Go, live until") {
					t.Errorf("%v: blocks that nobody has collected are leaks: %v: %s", flags, err, b)
				}
				if b, err := exec.Command(testprogs.HDB(t), "export", "sarif", path, "-o", "-").CombinedOutput(); err != nil || !strings.Contains(string(b), "of Go are left out") {
					t.Errorf("%v: and in SARIF: %v: %s", flags, err, b)
				}
				for typ, function := range map[string]string{"main.wide": "main.broad", "[]*int": "main.pointersOf", "main.flat": "main.tiny"} {
					ask := exec.Command(testprogs.HDB(t), "-q", path)
					ask.Stdin = strings.NewReader(fmt.Sprintf("allocs 1 if type(%q)\n", typ))
					b, err := ask.CombinedOutput()
					if err != nil || !strings.Contains(string(b), function+" ") || !strings.Contains(string(b), "the last 1 of ") {
						t.Errorf("%v: %s is allocated by %s, hdb says %v: %s", flags, typ, function, err, b)
					}
				}
			}
		})
	}
}

// Machines to record on: this one, and one that lets no program read the FS base.
var (
	this    testprogs.Machine
	without = testprogs.Machine{Name: "without", Env: []string{machine.Variable + "=" + machine.FSGSBase.Word()}}
)

// compare records the stress program to its end, and compares.
func compare(t *testing.T, program, rounds string) (path string) {
	t.Helper()
	return compareOn(t, this, program, rounds)
}

func compareOn(t *testing.T, m testprogs.Machine, program, rounds string) (path string) {
	t.Helper()
	out, path := recordOn(t, m, program, rounds)
	var want counts
	var joined uint64 // blocks made in the slots of others, which the runtime counts apart
	if _, err := fmt.Sscanf(out, "allocs %d frees %d tiny %d", &want.allocs, &want.frees, &joined); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want.allocs += joined
	if got := countsOf(t, program, path); got != want {
		t.Errorf("recorded %+v, the runtime has counted %+v", got, want)
	}
	return path
}

// record records a program to its end.
func record(t *testing.T, program string, args ...string) (out, path string) {
	t.Helper()
	return recordOn(t, this, program, args...)
}

func recordOn(t *testing.T, m testprogs.Machine, program string, args ...string) (out, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "capture.hdb")
	cmd := exec.Command(testprogs.HDB(t), append([]string{"record", "-o", path, program}, args...)...)
	cmd.Env = append(os.Environ(), m.Env...)
	var said strings.Builder
	cmd.Stderr = &said
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, b, &said)
	}
	if strings.Contains(said.String(), "plain breakpoints") || strings.Contains(said.String(), "lost") {
		t.Errorf("hdb said %s", &said)
	}
	return string(b), path
}

// marker is how many bytes the stress program asks for behind its last look at the counters.
const marker = 7_777_777

// countsOf counts the events of a capture as the runtime does, up to the marker.
func countsOf(t *testing.T, program, path string) counts {
	t.Helper()
	all := countsAt(t, program, path)
	if len(all) != 1 {
		t.Fatalf("%d markers", len(all))
	}
	return all[0]
}

// countsAt is countsOf at each marker. Of blocks from before the recording the ends alone are
// known, where it began late.
func countsAt(t *testing.T, program, path string) (marks []counts) {
	t.Helper()
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flat := flatTypes(t, program)
	var n counts
	late := f.Info().Partial.Has(capture.BeganLate)
	low, last := uint64(0), uint64(0)
	for _, m := range f.Modules() {
		if filepath.Base(m.Path) == filepath.Base(program) {
			low = uint64(m.Low)
		}
	}
	shared := map[uint64]bool{} // slots in which small blocks without pointers are, that still live
	const slot = 16
	for e := range f.Events(1) {
		if !strings.HasPrefix(f.Functions()[e.Func], "runtime.") {
			continue // of the dynamic linker, in a program that is position independent
		}
		at := e.Addr &^ (slot - 1)
		switch {
		case e.Kind == capture.Alloc && e.Size == marker:
			marks = append(marks, n)
			n.allocs++
		case e.Kind == capture.Alloc:
			n.allocs++
			last = 0
			if e.Size < slot && flat(capture.GoAux(e.Aux).Type(low)-low) {
				shared[at] = true
			} else {
				delete(shared, at)
			}
		case !e.Ended.Recorded && !late:
			t.Errorf("a block is found dead that was not made: %#x", e.Addr)
		case !shared[at]:
			n.frees++
		case last != at:
			n.frees++
			last = at
		}
	}
	return marks
}

// flatTypes tells types without pointers, by the distance of their descriptors from the
// beginning of the module.
func flatTypes(t *testing.T, program string) func(at uint64) bool {
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	first := ^uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			first = min(first, p.Vaddr&^0xfff)
		}
	}
	return func(at uint64) bool {
		at += first
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= at && at < p.Vaddr+p.Filesz {
				var b [8]byte
				if _, err := p.ReadAt(b[:], int64(at-p.Vaddr)+8); err != nil {
					t.Fatal(err)
				}
				return binary.LittleEndian.Uint64(b[:]) == 0
			}
		}
		return true // no type
	}
}
