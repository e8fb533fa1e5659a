package glibc

import (
	"bufio"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// started starts a program, to be killed at the end of the test, and returns what it says.
func started(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
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
	return bufio.NewScanner(out)
}

// stopped starts a program that stops itself after a line that begins with last, and returns what it said.
func stopped(t *testing.T, last, program string, args ...string) (src Source, lines []string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	for s := started(t, cmd); s.Scan(); {
		lines = append(lines, s.Text())
		if strings.HasPrefix(s.Text(), last) {
			break
		}
	}
	f := &follower{t: t, cmd: cmd}
	f.wait("it does not stop", func() bool { return f.state() == "T" })
	return procSource(t, cmd.Process.Pid), lines
}

// broken is what the walk tells of testdata/corrupt.c. Addresses of user memory are shown by
// the letters that the program gives them.
func broken(t *testing.T, program string, args ...string) (*Heap, []string) {
	t.Helper()
	names := map[addr.Run]string{}
	src, lines := stopped(t, "fs ", program, args...)
	var fs addr.Run
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		v, err := strconv.ParseUint(value, 0, 64)
		if err != nil {
			t.Fatal(line)
		}
		if name == "fs" {
			fs = addr.Run(v)
		} else {
			names[addr.Run(v)] = name
		}
	}
	src.Threads = []resident.Thread{{TID: 1, FS: fs}}
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range h.Damage() {
		line := d.String()
		for a, name := range names {
			line = strings.ReplaceAll(line, (a - header).String(), "chunk("+name+")")
			line = strings.ReplaceAll(line, a.String(), name)
		}
		line = strings.ReplaceAll(line, h.arenas[0].Addr.String(), "main_arena")
		told = append(told, line)
	}
	return h, told
}

// grown are the sizes in texts that depend on how far the arena has grown.
var grown = regexp.MustCompile(`(at most |from 0x20 to )0x[0-9a-f]+`)

func TestDamage(t *testing.T) {
	program := compiled(t, "corrupt.c")
	for _, c := range []struct {
		how  string
		want []string
	}{
		{"whole", nil},
		{"size", []string{"chunk(B): size is 0x4141414141414141, expected a multiple of 16 from 0x20 to N"}},
		{"null byte", []string{"chunk(B): size is 0x100, expected PREV_INUSE set: no bin has the chunk before it, chunk(A)"}},
		{"fd", []string{"chunk(D): fd is 0x4141414141414141, expected a free chunk of the arena, or the unsorted bin's head HEAD"}},
		{"bk", []string{"chunk(D): bk is 0x4242424242424242, expected chunk(F), whose fd leads here"}},
		{"list", []string{"chunk(F): fd is chunk(F), expected a chunk that is in no bin yet"}},
		{"prev_size", []string{"chunk(E): prev_size is 0x1230, expected 0x510, the size of the free chunk before it"}},
		{"unlinked", []string{"chunk(E): size is 0x20, expected PREV_INUSE set: no bin has the chunk before it, chunk(D)"}},
		{"tcache next", []string{"chunk(C): tcache_entry.next is 0x4343434343434343, which leads to ELSEWHERE, expected a freed chunk of size 0x20 or the end of the list"}},
		{"tcache loop", []string{"chunk(A): tcache_entry.next is MANGLED, which leads to C, expected a chunk that is in no list yet"}},
		{"tcache key", []string{"chunk(C): tcache_entry.key is 0x4545454545454545, expected KEY, as in the other chunks of tcaches"}},
		{"tcache used", []string{"chunk(C): tcache_entry.next is MANGLED, which leads to D, expected a freed chunk of size 0x20, not 0x510"}},
		{"tcache count", []string{"chunk(T): tcache_perthread_struct.counts[0] is 9, expected 2, as many as its list has"}},
		{"fastbin", []string{"chunk(I): fd is MANGLED, which leads to chunk(I), expected a chunk that is in no list yet"}},
		{"top", []string{"chunk(T): size is 0xffffffffffffffff, expected that of the top chunk, at most N"}},
		{"arena flag", []string{"chunk(D): size is 0x515, expected NON_MAIN_ARENA clear"}},
	} {
		for _, where := range []string{"main", "other"} {
			if where == "other" && (c.how == "tcache count" || c.how == "arena flag") {
				continue // about the main arena
			}
			t.Run(c.how+"/"+where, func(t *testing.T) {
				args := []string{c.how}
				want := slices.Clone(c.want)
				if where == "other" {
					args = append(args, "thread")
					for i := range want { // the flag NON_MAIN_ARENA
						want[i] = strings.NewReplacer("size is 0x100,", "size is 0x100,", "size is 0x20,", "size is 0x24,").Replace(want[i])
					}
				}
				h, told := broken(t, program, args...)
				if where == "other" && len(h.arenas) != 2 {
					t.Errorf("%d arenas", len(h.arenas))
				}
				for i := range told {
					told[i] = strings.TrimPrefix(grown.ReplaceAllString(told[i], "${1}N"), "chunk ")
					for _, v := range [][2]string{{"head 0x[0-9a-f]+", "head HEAD"}, {"is 0x[0-9a-f]+, which leads to (C|D|chunk)", "is MANGLED, which leads to $1"}, {"to 0x[0-9a-f]+, exp", "to ELSEWHERE, exp"}, {"expected 0x[0-9a-f]{12,}, as", "expected KEY, as"}} {
						told[i] = regexp.MustCompile(v[0]).ReplaceAllString(told[i], v[1])
					}
				}
				if !slices.Equal(told, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}
