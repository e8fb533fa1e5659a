package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// thrower has nothing left at its end but what its runtimes keep for themselves, and a block of its own if it is given an argument.
const thrower = `
#include <cstdio>
#include <stdexcept>
#include <string>
#include <cstdlib>
static void *kept;
struct early { early() { std::string s(100, 'x'); std::puts(s.c_str()); } } of_the_program;
int main(int argc, char **) {
	try {
		throw std::runtime_error("caught");
	} catch (std::exception &e) {
		std::puts(e.what());
	}
	if (argc > 1)
		kept = malloc(123);
	return kept == &kept;
}
`

// What runtimes keep for themselves is no leak where they are linked into the program either, whose module tells nothing of them.
func TestRuntimesInTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "thrower.cc")
	if err := os.WriteFile(source, []byte(thrower), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, compiler := range []string{"g++", "g++ -g", "g++ -static-libstdc++ -static-libgcc", "g++ -static", "g++ -static-pie", "clang++ -stdlib=libc++", "clang++ -stdlib=libc++ -static"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(compiler)
			prog := filepath.Join(t.TempDir(), "thrower")
			if out, err := exec.Command(words[0], append(words[1:], "-o", prog, source)...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", compiler, err, out)
			}
			for want, args := range map[string][]string{"ok     no-leaks: no block is live at the end; not counted: ": nil, "FAILED no-leaks: 123 bytes in 1 block live at the end; not counted: ": {"kept"}} {
				if out, _ := exec.Command(testprogs.HDB(t), append([]string{"assert", "--no-leaks", "--", prog}, args...)...).CombinedOutput(); !strings.Contains(string(out), want) {
					t.Errorf("%q: want %q\n%s", args, want, out)
				}
			}
		})
	}
}
