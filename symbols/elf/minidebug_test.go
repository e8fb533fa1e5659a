package elf

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"hdb/testprogs"
)

// pack compresses with the tool that distributions use.
func pack(t testing.TB, data []byte, flags ...string) []byte {
	t.Helper()
	cmd := exec.Command(testprogs.Tool(t, "xz"), append([]string{"-c"}, flags...)...)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xz: %v", err)
	}
	return out
}

func TestUnxz(t *testing.T) {
	want := []byte(strings.Repeat("symbols of functions\n", 1000))
	for _, flags := range []string{"-6", "-9e", "--check=sha256", "--x86 --lzma2", "--delta=dist=4 --lzma2"} {
		got, err := unxz(pack(t, want, strings.Fields(flags)...), len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", flags, len(got), err)
		}
	}
	packed := pack(t, want)
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, "xz"},
		{"cut", packed[:len(packed)/2], "xz"},
		{"no xz", []byte("no xz at all, but long enough"), "format"},
	} {
		if _, err := unxz(c.in, len(want)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := unxz(packed, len(want)-1); err == nil || !strings.Contains(err.Error(), "become more than") {
		t.Errorf("longer than allowed: %v", err)
	}
	if _, err := unxz(pack(t, want, "--lzma2=dict=256MiB"), len(want)); err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("dictionary of 256 MiB: %v", err)
	}
}

// TestUnxzMemory decompresses a bomb: 512 MiB of zeros in 75 KiB, in the short form 128.
func TestUnxzMemory(t *testing.T) {
	cmd := exec.Command("sh", "-c", fmt.Sprintf("head -c %dM /dev/zero | %s -0 -c", testprogs.Rounds(128, 512), testprogs.Tool(t, "xz")))
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	limit := maxMiniRatio*len(packed) + 1<<20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := unxz(packed, limit); err == nil || !strings.Contains(err.Error(), "become more than") {
		t.Errorf("a bomb of %d bytes: %v", len(packed), err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > uint64(8*limit)+maxMiniDict {
		t.Errorf("%d bytes allocated for at most %d", got, limit)
	}
}

// FuzzUnxz decompresses foreign bytes within bounds.
func FuzzUnxz(f *testing.F) {
	small := []byte("symbols of functions")
	for _, flags := range []string{"-0", "-0 --check=none", "--x86 --lzma2=dict=4KiB", "--delta=dist=4 --lzma2=dict=4KiB"} {
		f.Add(pack(f, small, strings.Fields(flags)...))
		f.Add(pack(f, bytes.Repeat(small, 300), strings.Fields(flags)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		out, err := unxz(data, limit)
		if len(out) > limit || err != nil && out != nil {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})
}
