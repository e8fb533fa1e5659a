package desk

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
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
		"\x48\x8b\x05\xf0\xff\xff\xff":     "mov -0x10(%rip),%rax  # 0xff7",
	} {
		inst, err := x86asm.Decode([]byte(code), 64)
		if err != nil {
			t.Fatalf("% x: %v", code, err)
		}
		if got := assembly(inst, 0x1000, func(addr.Run) string { return "" }); got != want {
			t.Errorf("% x: %s, want %s", code, got, want)
		}
	}
}

// TestDecodeInstruction compares with gdb what x86asm does not know or writes otherwise.
func TestDecodeInstruction(t *testing.T) {
	name := func(a addr.Run) string { return map[addr.Run]string{0x1007: "f", 0x1010: "g+4"}[a] }
	for code, want := range map[string]string{
		"\xf3\x0f\x1e\xfa\x90":         "endbr64",
		"\xc5\xf8\x77\xc3":             "vzeroupper",
		"\xc5\xfc\x77\xc3":             "vzeroall",
		"\xe8\x02\x00\x00\x00":         "call 0x1007 <f>",
		"\x74\x0e":                     "je 0x1010 <g+4>",
		"\xeb\xfe":                     "jmp 0x1000",
		"\x48\x8d\x05\x00\x00\x00\x00": "lea (%rip),%rax  # 0x1007 <f>",
		"\xc3":                         "ret",
		"\x8d\x34\x03":                 "lea (%rbx,%rax,1),%esi",
		"\x48\x98":                     "cltq",
		"\x66\x90":                     "xchg %ax,%ax",
		"\x6a\x03":                     "push $0x3",
		"\x48\xb9\xff\xff\xff\xff\xff\x7f\x00\x00": "movabs $0x7fffffffffff,%rcx",
		"\x06": "(bad) 0x06",
	} {
		if got := decodeInstruction([]byte(code), 0x1000, name).Text; got != want {
			t.Errorf("% x: %s, want %s", code, got, want)
		}
	}
	if list := DecodeAll([]byte("\xc5\xf8\x77\xc3\x0f"), 0x1000, name); len(list) != 3 || list[1].Text != "ret" || list[2].Addr != 0x1004 {
		t.Errorf("%+v", list)
	}
}
