package filter

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/golden"
)

// TestDisassembly shows what conditions cost.
func TestDisassembly(t *testing.T) {
	for _, c := range []struct{ name, function, text string }{
		{"size", "malloc", "size >= 1MiB"},
		{"product", "calloc", "size >= 1MiB && count < 1000"},
		{"thread", "malloc", `!(size < 4KiB || func("parse_*")) && (thread == 3 || live >= 5GiB + 1)`},
	} {
		text := strings.Replace(c.text, "5GiB + 1", "5368709121", 1)
		p := Compile(parse(t, text).Root(), entry(c.function))
		golden.Check(t, c.name+"."+c.function+".disasm", listing(t, text, p))
	}
}

// listing is the program one instruction a line: offset, bytes, text.
func listing(t *testing.T, text string, p Program) []byte {
	t.Helper()
	const outside = 0x1000
	code, err := p.Link(0, outside)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", text)
	name := func(at uint64) (string, uint64) {
		if at == outside {
			return "match", at
		}
		return "", 0
	}
	for at := 0; at < len(code); {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			t.Fatalf("at %#x: %v", at, err)
		}
		operation := x86asm.IntelSyntax(inst, uint64(at), name)
		fmt.Fprintf(&b, "%4x  %-30s  %s\n", at, fmt.Sprintf("% x", code[at:at+inst.Len]), operation)
		at += inst.Len
	}
	fmt.Fprintf(&b, "%4x  # no match\n", len(code))
	return b.Bytes()
}
