package testprogs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aliasing are allocators in which free, operator delete and operator delete[] are one function.
var aliasing = []struct {
	name    string
	flags   []string // of the program
	preload string   // NAME of libNAME.so, "" none
}{
	{"tcmalloc preloaded", nil, "tcmalloc_minimal"},
	{"mimalloc preloaded", nil, "mimalloc"},
	{"tcmalloc preloaded, clang", []string{"CC=clang++"}, "tcmalloc_minimal"},
	{"mimalloc preloaded, unsized", []string{"-fno-sized-deallocation"}, "mimalloc"},
	{"tcmalloc linked", []string{"-Wl,--no-as-needed", "-ltcmalloc_minimal"}, ""},
	{"tcmalloc static", []string{"-static", "-Wl,--whole-archive", "-l:libtcmalloc_minimal.a", "-Wl,--no-whole-archive"}, ""},
}

// preloaded is the path of a library, "" of none.
func preloaded(t *testing.T, library string) string {
	if library == "" {
		return ""
	}
	return Library(t, library)
}

// TestAliased judges nothing by the name of a function that has several: which was called is not known.
func TestAliased(t *testing.T) {
	for _, a := range aliasing {
		for _, plane := range []string{"auto", "off"} {
			t.Run(a.name+", probe "+plane, func(t *testing.T) {
				t.Parallel()
				capture := filepath.Join(t.TempDir(), "a.hdb")
				args := []string{"-batch", "-nx", "-ex", "set probe " + plane, "-ex", "set environment LD_PRELOAD " + preloaded(t, a.preload),
					"-ex", "record start", "-ex", "run", "-ex", "save " + capture, "--args", Build(t, "aliased", a.flags...)}
				said, err := exec.Command(HDB(t), args...).CombinedOutput()
				if err != nil || !bytes.Contains(said, []byte("exited with code 0")) {
					t.Errorf("%v\n%s", err, said)
				}
				// stats names them all, and the condition on each is true.
				said, err = exec.Command(HDB(t), "-batch", "-nx", "-ex", "stats", "-ex", "allocs if kind == free", "-ex", `allocs if kind("operator delete[]")`,
					"-ex", "wrong-frees", capture).CombinedOutput()
				if err != nil || bytes.Contains(said, []byte("mismatched")) {
					t.Errorf("%v\n%s", err, said)
				}
				if !bytes.Contains(said, []byte(" free/operator delete/operator delete[]\n")) || bytes.Contains(said, []byte(" free\n")) || strings.Count(string(said), "free/operator delete/operator delete[](0x") < 12 {
					t.Errorf("the names of the function that frees:\n%s", said)
				}
			})
		}
	}
}

// TestAliasedAttached is the same of a program that runs.
func TestAliasedAttached(t *testing.T) {
	for _, a := range aliasing {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			end := filepath.Join(t.TempDir(), "end")
			prog := exec.CommandContext(ctx, Build(t, "aliased", a.flags...), end)
			prog.Env = append(os.Environ(), "LD_PRELOAD="+preloaded(t, a.preload))
			if err := prog.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = prog.Process.Kill(); _ = prog.Wait() }() // it has ended, or the test has failed
			said, err := exec.CommandContext(ctx, HDB(t), "-batch", "-nx", "-p", fmt.Sprint(prog.Process.Pid), "-ex", "record start",
				"-ex", "next-alloc 50", "-ex", "shell touch "+end, "-ex", "continue").CombinedOutput()
			if err != nil || bytes.Contains(said, []byte("mismatched")) || !bytes.Contains(said, []byte("exited with code 0")) {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

// TestAliasedTwice finds a block that is given back twice all the same.
func TestAliasedTwice(t *testing.T) {
	said, err := exec.Command(HDB(t), "-batch", "-nx", "-ex", "set environment LD_PRELOAD "+Library(t, "tcmalloc_minimal"),
		"-ex", "record start", "-ex", "run", "--args", Build(t, "wrongfrees"), "double").CombinedOutput()
	for _, want := range []string{
		"double free: #40 free/operator delete/operator delete[](0x", "the block was freed before, by #39 free/operator delete/operator delete[](0x",
	} {
		if err != nil || !bytes.Contains(said, []byte(want)) {
			t.Errorf("%v: missing %q in\n%s", err, want, said)
		}
	}
}
