package console

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestAssembly compares with what objdump of binutils 2.40 writes.
func TestAssembly(t *testing.T) {
	for code, want := range map[string]string{
		"\x8b\x85\xc4\xfc\xff\xff":         "mov -0x33c(%rbp),%eax",
		"\x8b\x45\xec":                     "mov -0x14(%rbp),%eax",
		"\x8b\x85\xc4\x0c\x00\x00":         "mov 0xcc4(%rbp),%eax",
		"\x48\x63\xc8":                     "movslq %eax,%rcx",
		"\x48\x63\x45\xec":                 "movslq -0x14(%rbp),%rax",
		"\x8b\x04\x85\x00\xf0\xff\xff":     "mov -0x1000(,%rax,4),%eax",
		"\x48\x8d\x84\x80\x00\xff\xff\xff": "lea -0x100(%rax,%rax,4),%rax",
		"\x67\x8b\x80\x00\xff\xff\xff":     "mov -0x100(%eax),%eax",
		"\x48\x8b\x05\xf0\xff\xff\xff":     "mov -0x10(%rip),%rax",
	} {
		inst, err := x86asm.Decode([]byte(code), 64)
		if err != nil {
			t.Fatalf("% x: %v", code, err)
		}
		if got := assembly(inst, 0x1000, nil); got != want {
			t.Errorf("% x: %s, want %s", code, got, want)
		}
	}
}
