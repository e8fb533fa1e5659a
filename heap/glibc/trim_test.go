package glibc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestTrim has threads with many small blocks in fastbins: what Trim says is what malloc_trim(0) then gives back,
// however few of them stay in the way.
func TestTrim(t *testing.T) {
	program := compiled(t, "nodes.c", "-O1")
	for _, oneOf := range []string{"40", "400", "40000"} {
		t.Run(oneOf, func(t *testing.T) { trims(t, "tcache_count=0", program, "4", oneOf) })
	}
}

// TestTrimTop has a large top, which is given back in whole pages, in huge ones, or not at all.
func TestTrimTop(t *testing.T) {
	program := compiled(t, "top.c", "-O1")
	for _, how := range []string{"brk", "sbrk"} {
		for _, tunable := range []string{"perturb=0", "hugetlb=1", "hugetlb=2"} {
			t.Run(how+"/"+tunable, func(t *testing.T) { trims(t, tunable, program, how) })
		}
	}
}

// trims compares what Trim says of a program that has stopped itself with what malloc_trim gives back.
func trims(t *testing.T, tunable, program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc."+tunable)
	lines := started(t, cmd)
	lines.Scan()
	f := &follower{t: t, cmd: cmd}
	f.wait("it does not stop", func() bool { return f.state() == "T" })
	h, err := Open(t.Context(), procSource(t, cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	trim := h.Trim()
	cmd.Process.Signal(syscall.SIGCONT)
	lines.Scan()
	var returned int64
	if _, err := fmt.Sscanf(lines.Text(), "returned %d", &returned); err != nil {
		t.Fatal(lines.Text(), err)
	}
	t.Logf("%d bytes, predicted %+v", returned, trim)
	const other = 128 << 10 // memory that the program touches or gives back meanwhile
	if off := int64(trim.Returned) - returned; off > other || off < -other {
		t.Errorf("malloc_trim returned %d bytes, predicted %d", returned, trim.Returned)
	}
}
