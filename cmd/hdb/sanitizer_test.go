package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestLeakSanitizerHint: a program that LeakSanitizer ended is explained, and no other.
func TestLeakSanitizerHint(t *testing.T) {
	const address, leak = "ASAN_OPTIONS=detect_leaks=0", "LSAN_OPTIONS=detect_leaks=0"
	for _, tc := range []struct {
		program, env, hint string
	}{
		{testprogs.Build(t, "basic", "-fsanitize=address"), "", address},
		{testprogs.Build(t, "basic", "-fsanitize=address", "-static-libasan"), "", address},
		{testprogs.Build(t, "basic", "-fsanitize=leak"), "", leak},
		{testprogs.Build(t, "basic", "-fsanitize=address"), "ASAN_OPTIONS=verbosity=0:detect_leaks=0", ""},
		{testprogs.Build(t, "crashes"), "", ""}, // exits with 2
	} {
		cmd := exec.Command(testprogs.HDB(t), "record", "-o", filepath.Join(t.TempDir(), "s.hdb"), tc.program)
		cmd.Env = append(os.Environ(), tc.env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", tc.program, err, out)
		}
		if tc.hint != "" && !strings.Contains(string(out), "LeakSanitizer, which does not work under a debugger: run the program with "+tc.hint+"\n") || tc.hint == "" && strings.Contains(string(out), "under a debugger") {
			t.Errorf("%s with %q: want a hint at %q\n%s", tc.program, tc.env, tc.hint, out)
		}
	}
}
