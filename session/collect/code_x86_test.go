package collect

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestCallLeavesFlags: behind a collection a goroutine goes on with the flags that it had.
// debugCallV2 itself ends with an add.
func TestCallLeavesFlags(t *testing.T) {
	w := &codeWriter{}
	err := w.restored([]byte{
		0x4c, 0x8b, 0x64, 0x24, 0x38, // mov 0x38(%rsp),%r12
		0x48, 0x8b, 0x44, 0x24, 0x10, // mov 0x10(%rsp),%rax
		0x48, 0x81, 0xc4, 0x98, 0, 0, 0, // add $0x98,%rsp
		0x5d, 0xc3, // pop %rbp; ret
		0x90,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for code := w.code; len(code) > 0; {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x86asm.GNUSyntax(in, 0, nil))
		code = code[in.Len:]
	}
	want := []string{"mov 0x10(%rsp),%rax", "movl $0x1,0xc(%r12,%riz)", "mov 0x38(%rsp),%r12", "lea 0x98(%rsp),%rsp", "pop %rbp", "retq"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := w.restored([]byte{0x48, 0x31, 0xc0, 0xc3}); err == nil { // xor %rax,%rax; ret
		t.Error("code that is not understood is taken")
	}
}
