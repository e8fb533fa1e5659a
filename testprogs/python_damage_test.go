package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A debugBlock is a damaged block in JSON.
type debugBlock struct {
	Address string
	Size    *uint64
	Domain  string
	Freed   bool
	Damaged []struct {
		Kind   string
		Offset int
		Bytes  string
	}
	Event  *struct{ Function string }
	Frames []struct{ Function string }
}

func (b debugBlock) String() string {
	size := "?"
	if b.Size != nil {
		size = fmt.Sprint(*b.Size)
	}
	text := fmt.Sprintf("%s %s %s %t", b.Address, size, b.Domain, b.Freed)
	for _, d := range b.Damaged {
		text += fmt.Sprintf(" %s %d %s", d.Kind, d.Offset, d.Bytes)
	}
	if b.Event != nil {
		text += " by " + b.Event.Function
	}
	if n := len(b.Frames); n > 0 {
		text += " in " + b.Frames[n-1].Function
	}
	return text
}

// TestPythonDamage has a program write beyond its blocks, and compares what hdb says of that with what
// it has written: py check, py block, and the stop at CPython's own abort, with a recording and without.
func TestPythonDamage(t *testing.T) {
	script, err := filepath.Abs("testdata/python/damage.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range allPythons(t) {
		for _, recorded := range []bool{false, true} {
			if recorded && strings.HasSuffix(p, "d") && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s,recorded=%t", strings.TrimPrefix(p, "/"), recorded), func(t *testing.T) {
				t.Parallel()
				damagedPython(t, p, script, recorded)
			})
		}
	}
}

func damagedPython(t *testing.T, p, script string, recorded bool) {
	ctx, cancel := Context(t)
	defer cancel()
	args := []string{"--json", "-batch", "-nx", "-ex", "break Py_RunMain", "-ex", "run"}
	if recorded {
		args = append(args, "-ex", "record start --python-allocators")
	}
	args = append(args, "-ex", "continue", "-ex", "py check", "-ex", "continue", "-ex", "kill", "--args", p, script)
	if recorded {
		args = append(args, "large")
	}
	cmd := exec.CommandContext(ctx, HDB(t), args...)
	cmd.Env = append(os.Environ(), "PYTHONMALLOC=debug", "PYTHONHASHSEED=0")
	out, _ := cmd.Output() // its exit code is of the signal
	var at []string
	var found, blamed []debugBlock
	checked := 0
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("0x")) {
			at = strings.Fields(string(line))
			continue
		}
		var v struct {
			Command string
			Checked int          `json:"checked_blocks"`
			Blocks  []debugBlock `json:"damaged_blocks"`
			Stop    struct {
				Blamed *debugBlock `json:"damaged_block"`
			}
		}
		if err := json.Unmarshal(line, &v); err != nil {
			continue // what the interpreter prints of the damage
		}
		if v.Command == "py check" {
			found, checked = v.Blocks, v.Checked
		}
		if v.Stop.Blamed != nil {
			blamed = append(blamed, *v.Stop.Blamed)
		}
	}
	if len(at) != 6 || checked < 1000 {
		t.Fatalf("%d addresses, %d blocks checked\n%.3000s", len(at), checked, out)
	}
	by := func(what string) string {
		if recorded {
			return what
		}
		return ""
	}
	want := []string{
		at[1] + " 20 mem false overrun 0 41 41 41" + by(" by PyMem_Malloc in overrun"),
		at[2] + " 100 obj false underrun -2 42 42" + by(" by PyObject_Malloc in underrun"),
		at[3] + " ?  false header -16 " + strings.TrimSpace(strings.Repeat("43 ", 16)) + by(" by PyObject_Malloc in lost_header"),
		at[4] + " ?  true use after free 10 44 44 44 44" + by(" by PyMem_Free"),
	}
	if recorded {
		want = append(want, at[5]+" 5000 obj false overrun 0 41 by PyObject_Malloc in overrun")
	}
	var got []string
	for _, b := range found {
		got = append(got, b.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	abort := at[1] + " 20 mem false overrun 0 41 41 41"
	if recorded {
		abort = at[5] + " 5000 obj false overrun 0 41"
	}
	if len(blamed) != 1 || blamed[0].String() != abort {
		t.Errorf("at the abort: %v, want %s", blamed, abort)
	}
}

// TestPythonUndamaged looks at all blocks of a program that damages none, after several
// thousand were given back and others grew.
func TestPythonUndamaged(t *testing.T) {
	script, err := filepath.Abs("testdata/python/heap.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range allPythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := Context(t)
			defer cancel()
			args := []string{"--json", "-batch", "-nx", "-ex", "break Py_RunMain", "-ex", "run", "-ex", "break *_PyObject_DebugMallocStats", "-ex", "continue"}
			for range 4 {
				args = append(args, "-ex", "py check", "-ex", "continue")
			}
			cmd := exec.CommandContext(ctx, HDB(t), append(args, "--args", p, script, os.DevNull)...)
			cmd.Env = append(os.Environ(), "PYTHONMALLOC=debug")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			n := 0
			for line := range bytes.Lines(out) {
				var v struct {
					Hooks   bool
					Checked int          `json:"checked_blocks"`
					Blocks  []debugBlock `json:"damaged_blocks"`
					Damaged []string
				}
				if !bytes.Contains(line, []byte(`"py check"`)) {
					continue
				}
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatal(err)
				}
				if n++; !v.Hooks || v.Checked < 5000 || len(v.Blocks) > 0 || len(v.Damaged) > 0 {
					t.Errorf("%v of %d damaged; %v", v.Blocks, v.Checked, v.Damaged)
				}
			}
			if n != 4 {
				t.Errorf("%d answers\n%.2000s", n, out)
			}
		})
	}
}
