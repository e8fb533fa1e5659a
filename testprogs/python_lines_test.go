package testprogs

import (
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/python/lines"
)

// tracedCode is a code object as the program tells of it.
type tracedCode struct {
	Name                    string
	First                   int
	Code, Table, Exceptions string
}

func (c tracedCode) lines(t *testing.T, minor int) *lines.Map {
	t.Helper()
	raw := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	code := lines.Code{Minor: minor, FirstLine: c.First, Bytecode: raw(c.Code), Table: raw(c.Table), Exceptions: raw(c.Exceptions)}
	if minor >= 11 {
		resume := byte(151)
		if minor == 13 {
			resume = 149
		}
		for code.FirstTraceable < len(code.Bytecode) && code.Bytecode[code.FirstTraceable] != resume {
			code.FirstTraceable += 2
		}
	}
	m, ok := lines.New(code)
	if !ok {
		t.Fatalf("3.%d is not known", minor)
	}
	return m
}

// TestPythonLines compares where lines begin with what sys.settrace tells, instruction by
// instruction.
func TestPythonLines(t *testing.T) {
	script, err := filepath.Abs("testdata/python/lines.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range somePythons(t) {
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(p, script, "trace").Output()
			if err != nil {
				t.Fatal(err)
			}
			var told struct {
				Codes []tracedCode
				Calls [][]any
			}
			if err := json.Unmarshal(out, &told); err != nil {
				t.Fatal(err)
			}
			minor := minorOf(t, p)
			maps := make([]*lines.Map, len(told.Codes))
			for i, c := range told.Codes {
				maps[i] = c.lines(t, minor)
			}
			events, began := 0, 0
			for _, call := range told.Calls {
				n, prev := int(call[0].(float64)), int(call[1].(float64))
				m, name := maps[n], told.Codes[n].Name
				begins := 0
				for _, e := range call[2:] {
					e := e.([]any)
					line, at := int(e[1].(float64)), int(e[2].(float64))
					if e[0] == "line" {
						begins, began = line, began+1
						if at == prev {
							continue // 3.12 and later tell of a jump back in a line before it is taken
						}
						if !slices.ContainsFunc(m.Starts(line), func(s lines.Start) bool { return s.Offset == at }) {
							t.Errorf("%s: line %d begins at %d, not among %v", name, line, at, m.Starts(line))
						}
						continue
					}
					events++
					if got := m.Event(prev, at); got != (begins != 0) {
						t.Errorf("%s: line %d at %d behind %d: a line begins: %v, want %v", name, line, at, prev, got, begins != 0)
					}
					prev, begins = at, 0
				}
			}
			if events < 500 || began < 200 {
				t.Errorf("%d instructions, %d lines told", events, began)
			}
		})
	}
}
