package session

import (
	"bufio"
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/session/codeflow"
)

// TestInsideInstruction: no address is refused that objdump has an instruction at, and most of those
// inside of one are.
func TestInsideInstruction(t *testing.T) {
	s := open(t, "stopconds")
	must(t)(s.Start(nil))
	for _, c := range []struct {
		module   string
		function []string
	}{
		{"stopconds", []string{"main", "append", "visit", "_start"}},
		{"libc.so.6", []string{"malloc", "free", "qsort_r", "strtod_l", "__libc_start_main", "fork", "printf"}},
	} {
		for _, m := range s.target.Names.Images() {
			if !strings.HasSuffix(m.Name, c.module) {
				continue
			}
			refused, inside := 0, 0
			for _, fn := range c.function {
				sym, ok := m.Object.Symtab.Symbol(fn)
				if !ok {
					t.Fatalf("no symbol %s", fn)
				}
				starts := instructions(t, m.Path, sym.Addr, sym.Addr+addr.File(sym.Size))
				for a := sym.Addr; a < sym.Addr+addr.File(sym.Size); a++ {
					err := codeflow.Inside(s.target, a.Run(m.Bias))
					switch {
					case err == nil && !starts[a]:
						inside++
					case err != nil && starts[a]:
						t.Errorf("%s: %v", fn, err)
					case err != nil:
						refused, inside = refused+1, inside+1
					}
				}
			}
			t.Logf("%s: %d of %d refused", c.module, refused, inside)
			if refused*10 < inside*9 {
				t.Errorf("%s: %d of %d refused", c.module, refused, inside)
			}
		}
	}
	// A debug register changes no code.
	var in *codeflow.InsideError
	if _, err := s.Stops.Break("*main+2", false); !errors.As(err, &in) {
		t.Errorf("break inside an instruction: %v", err)
	}
	if inferior.RegistersStop() {
		st, err := s.Stops.HardwareBreak("*main+2", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stops.Delete(st.ID); err != nil {
			t.Error(err)
		}
	}
	t.Setenv(machine.Variable, machine.DebugRegisters.Word())
	if _, err := s.Stops.HardwareBreak("*main+2", false); !errors.As(err, &in) { // a trap instead would
		t.Errorf("hbreak inside an instruction, by a trap: %v", err)
	}
}

// instructions is where objdump has instructions.
func instructions(t *testing.T, path string, low, high addr.File) map[addr.File]bool {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--start-address="+low.String(), "--stop-address="+high.String(), path).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^\s*([0-9a-f]+):\t`)
	all := map[addr.File]bool{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		if m := line.FindStringSubmatch(sc.Text()); m != nil {
			a, err := strconv.ParseUint(m[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			all[addr.File(a)] = true
		}
	}
	return all
}
