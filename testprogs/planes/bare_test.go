package planes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// followed has hdb see system calls, too.
var followed = []string{"set system-calls on", "RUN"}

// TestSystemCalls: with system-calls on the events are what strace sees, but for
// what malloc maps and unmaps for itself.
func TestSystemCalls(t *testing.T) {
	for _, flags := range [][]string{nil, {"-static"}, {"CC=musl-gcc"}} {
		for _, p := range planes {
			t.Run(fmt.Sprint(p, flags), func(t *testing.T) {
				t.Parallel()
				j := program(t, "bare", flags)
				want := stracedSizes(t, j)
				j.Script = followed
				r := record(t, p, j)
				if r.ending() != "exited with code 0" {
					t.Fatalf("%q\n%s%s", r.ending(), r.said, r.out)
				}
				var extra []string
				for e := range r.Events(0) {
					function := r.Functions()[e.Func]
					if e.Kind != capture.Map && e.Kind != capture.Unmap || function == "brk" && e.Size == 0 {
						continue // libc's function brk has no size
					}
					call := fmt.Sprint(e.Kind, " ", e.Size)
					if i := slices.Index(want, call); i >= 0 {
						want = slices.Delete(want, i, i+1)
					} else {
						extra = append(extra, call)
					}
				}
				if len(extra) > 0 {
					t.Errorf("events that strace does not see: %q", extra)
				}
				for _, call := range want {
					if !mallocs.MatchString(call) {
						t.Errorf("not seen: %s", call)
					}
				}
			})
		}
	}
}

// TestRecordSystemCalls: hdb record follows them when told to.
func TestRecordSystemCalls(t *testing.T) {
	j := program(t, "bare", nil)
	count := func(flags ...string) (n int) {
		path := filepath.Join(t.TempDir(), "bare.hdb")
		cmd := exec.Command(testprogs.HDB(t), slices.Concat([]string{"record", "-q", "-o", path}, flags, []string{j.Path})...)
		cmd.Env, cmd.Dir = j.Env, j.Dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		f, err := file.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for e := range f.Events(0) {
			if e.Size == 11*4096 {
				n++
			}
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d bare calls without being told to", n)
	}
	if n := count("--system-calls"); n != 1 {
		t.Errorf("%d bare calls, want 1", n)
	}
}

// mallocs are what libc maps and unmaps for malloc: the large block, musl's
// groups of blocks of a size, and what the break of glibc's is moved by.
var mallocs = regexp.MustCompile(`^(map|unmap) (1048596|1052672|1056768|4096|8192|135168|139264|16384|69632)$`)

// straced is a line of strace about a call that succeeds or fails.
var straced = regexp.MustCompile(`(?m)^(mmap|munmap|mremap|brk)\(([^,)]*)(?:, (\d+))?(?:, (\d+))?.*\) += (-?\w+)`)

// stracedSizes are the kinds and sizes of the calls that strace sees.
func stracedSizes(t *testing.T, j job) (calls []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "strace")
	cmd := exec.Command("strace", "-e", "trace=mmap,munmap,mremap,brk", "-o", out, j.Path)
	cmd.Env, cmd.Dir = j.Env, j.Dir
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var brk uint64
	for _, m := range straced.FindAllStringSubmatch(string(text), -1) {
		size := m[3]
		switch m[1] {
		case "munmap":
			calls = append(calls, "unmap "+size)
			continue
		case "mremap":
			size = m[4]
		case "brk":
			end, err := strconv.ParseUint(m[5], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			end = (end + 4095) &^ 4095
			before := brk
			brk = end
			switch {
			case before == 0 || end == before:
				continue
			case end < before:
				calls = append(calls, fmt.Sprint("unmap ", before-end))
				continue
			}
			size = fmt.Sprint(end - before)
		}
		calls = append(calls, "map "+size)
	}
	return calls
}
