package x86

import (
	"encoding/hex"
	"reflect"
	"testing"
)

// TestAccesses has the operands in memory of instructions, which were assembled by GNU as.
func TestAccesses(t *testing.T) {
	r := &Registers{Rax: 0x1000, Rbx: 0x2000, Rcx: 3, Rsi: 0x3000, Rdi: 0x4000, Rbp: 0x5000, Rsp: 0x6000, R12: 0x7000, R13: 0x8000, R14: 0x10, Rip: 0x9000, FsBase: 0xa000}
	for _, c := range []struct {
		text, code string
		want       []Access
	}{
		{"mov %eax,8(%rbx)", "894308", []Access{{0x2008, 4, true}}},
		{"mov 8(%rbx),%rax", "488b4308", []Access{{0x2008, 8, false}}},
		{"mov (%rax,%rcx,8),%rax", "488b04c8", []Access{{0x1018, 8, false}}},
		{"mov %rax,0x10(%rip)", "48890510000000", []Access{{0x9017, 8, true}}},
		{"mov %fs:0x28,%rax", "64488b042528000000", []Access{{0xa028, 8, false}}},
		{"mov (%r12),%al", "418a0424", []Access{{0x7000, 1, false}}},
		{"mov 1(%r13),%ax", "66418b4501", []Access{{0x8001, 2, false}}},
		{"movzwl (%r12),%eax", "410fb70424", []Access{{0x7000, 2, false}}},
		{"movb $1,(%rdi)", "c60701", []Access{{0x4000, 1, true}}},
		{"cmp %rax,(%rbx)", "483903", []Access{{0x2000, 8, false}}},
		{"cmpl $5,(%rbx)", "833b05", []Access{{0x2000, 4, false}}},
		{"add %rax,(%rbx)", "480103", []Access{{0x2000, 8, true}}},
		{"lock xadd %rax,(%rbx)", "f0480fc103", []Access{{0x2000, 8, true}}},
		{"xchg %rax,(%rbx)", "488703", []Access{{0x2000, 8, true}}},
		{"lock cmpxchg %rcx,(%rbx)", "f0480fb10b", []Access{{0x2000, 8, true}}},
		{"incl (%rbx)", "ff03", []Access{{0x2000, 4, true}}},
		{"lea 8(%rbx),%rax", "488d4308", nil},
		{"prefetcht0 (%rbx)", "0f180b", nil},
		{"clflush (%rbx)", "0fae3b", nil},
		{"bt %eax,(%rbx)", "0fa303", []Access{{0x2200, 4, false}}}, // bit 4096 from there on
		{"bts %rax,(%rbx)", "480fab03", []Access{{0x2200, 8, true}}},
		{"btl $5,(%rbx)", "0fba2305", []Access{{0x2000, 4, false}}},
		{"nopw 0(%rax,%rax,1)", "660f1f440000", nil},
		{"mov %rax,%rbx", "4889c3", nil},
		{"push %rax", "50", []Access{{0x5ff8, 8, true}}},
		{"push (%rbx)", "ff33", []Access{{0x2000, 8, false}, {0x5ff8, 8, true}}},
		{"pop %rax", "58", []Access{{0x6000, 8, false}}},
		{"call *(%rbx)", "ff13", []Access{{0x2000, 8, false}, {0x5ff8, 8, true}}},
		{"jmp *0x100(,%rcx,8)", "ff24cd00010000", []Access{{0x118, 8, false}}},
		{"ret", "c3", []Access{{0x6000, 8, false}}},
		{"leave", "c9", []Access{{0x5000, 8, false}}},
		{"rep movsb", "f3a4", []Access{{0x4000, 1, true}, {0x3000, 1, false}}},
		{"movsq", "48a5", []Access{{0x4000, 8, true}, {0x3000, 8, false}}},
		{"rep stosq", "f348ab", []Access{{0x4000, 8, true}}},
		{"cmpsb", "a6", []Access{{0x3000, 1, false}, {0x4000, 1, false}}},
		{"lodsb", "ac", []Access{{0x3000, 1, false}}},
		{"movaps %xmm0,(%rdi)", "0f2907", []Access{{0x4000, 16, true}}},
		{"movdqu (%rsi),%xmm0", "f30f6f06", []Access{{0x3000, 16, false}}},
		{"movss (%rsi),%xmm0", "f30f1006", []Access{{0x3000, 4, false}}},
		{"movsd %xmm0,(%rdi)", "f20f1107", []Access{{0x4000, 8, true}}},
		{"ucomisd (%rsi),%xmm0", "660f2e06", []Access{{0x3000, 8, false}}},
		{"fldt (%rsi)", "db2e", []Access{{0x3000, 10, false}}},
		{"fstpl (%rdi)", "dd1f", []Access{{0x4000, 8, true}}},
		{"vmovdqu (%rsi),%ymm0", "c5fe6f06", []Access{{0x3000, 32, false}}},
		{"vmovdqu %ymm0,0x20(%rdi)", "c5fe7f4720", []Access{{0x4020, 32, true}}},
		{"vmovdqu64 %zmm0,0x40(%rdi)", "62f1fe487f4701", []Access{{0x4040, 64, true}}},
		{"vmovdqu64 -0x40(%rsi),%zmm17", "62e1fe486f4eff", []Access{{0x2fc0, 64, false}}},
		{"vmovdqu 0x20(%rip),%ymm1", "c5fe6f0d20000000", []Access{{0x9028, 32, false}}},
		{"vpcmpeqb (%rsi),%ymm0,%ymm1", "c5fd740e", []Access{{0x3000, 32, false}}},
		{"vpshufd $1,0x20(%rip),%xmm1", "c5f9700d2000000001", []Access{{0x9029, 16, false}}},
		{"vmovss (%rsi),%xmm0", "c5fa1006", []Access{{0x3000, 4, false}}},
		{"vmovsd %xmm0,(%r12)", "c4c17b110424", []Access{{0x7000, 8, true}}},
		{"vmovq %xmm0,(%rdi)", "c5f9d607", []Access{{0x4000, 8, true}}},
		{"vmovq (%rsi),%xmm0", "c5fa7e06", []Access{{0x3000, 8, false}}},
		{"vmovd (%rsi),%xmm0", "c5f96e06", []Access{{0x3000, 4, false}}},
		{"vaddps (%rsi){1to16},%zmm0,%zmm1", "62f17c58580e", []Access{{0x3000, 4, false}}},
		{"vpbroadcastb (%rsi),%ymm0", "c4e27d7806", []Access{{0x3000, 1, false}}},
		{"vpmovzxbw (%rsi),%ymm0", "c4e27d3006", []Access{{0x3000, 16, false}}},
		{"vextracti128 $1,%ymm0,(%rdi)", "c4e37d390701", []Access{{0x4000, 16, true}}},
		{"andn (%rsi),%eax,%ebx", "c4e278f21e", []Access{{0x3000, 4, false}}},
		{"shlx %rax,(%rsi),%rbx", "c4e2f9f71e", []Access{{0x3000, 8, false}}},
		{"vmovdqu %ymm0,%ymm1", "c5fe6fc8", nil},
	} {
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		for len(code) < 16 {
			code = append(code, 0x90)
		}
		if got := Accesses(code, r); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// A string instruction that has been repeated often enough accesses nothing more.
func TestAccessesOfEndedRepeat(t *testing.T) {
	r := &Registers{Rsi: 0x3000, Rdi: 0x4000}
	for _, code := range [][]byte{{0xf3, 0xa4}, {0xf3, 0x48, 0xab}, {0xf2, 0xae}, {0xf3, 0xa6}} {
		if got := Accesses(code, r); got != nil {
			t.Errorf("% x: %v", code, got)
		}
	}
	if got := Accesses([]byte{0xa4}, r); len(got) != 2 {
		t.Errorf("movsb: %v", got)
	}
}
