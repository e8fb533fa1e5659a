package glibc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// TestTrim has threads with many small blocks in fastbins: what Trim says is what malloc_trim(0) then gives back,
// however few of them stay in the way.
func TestTrim(t *testing.T) {
	program := compiled(t, "nodes.c", "-O1")
	for _, oneOf := range []int{40, 400, 40000} {
		t.Run(strconv.Itoa(oneOf), func(t *testing.T) {
			cmd := exec.Command(program, "4", strconv.Itoa(oneOf))
			cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cmd.Process.Kill()
				cmd.Wait()
			})
			lines := bufio.NewScanner(out)
			lines.Scan()
			f := &follower{t: t, cmd: cmd}
			f.wait("it does not stop", func() bool { return f.state() == "T" })
			h, err := Open(t.Context(), procSource(t, cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			trim := h.Trim()
			said := trim.Returned
			cmd.Process.Signal(syscall.SIGCONT)
			lines.Scan()
			var returned uint64
			if _, err := fmt.Sscanf(lines.Text(), "returned %d", &returned); err != nil {
				t.Fatal(lines.Text(), err)
			}
			t.Logf("%d bytes, predicted %+v", returned, trim)
			const other = 128 << 10 // memory that the program touches or gives back meanwhile
			if max(said, returned)-min(said, returned) > other {
				t.Errorf("malloc_trim returned %d bytes, predicted %d", returned, said)
			}
		})
	}
}
