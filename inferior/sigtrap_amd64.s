#include "go_asm.h"
#include "textflag.h"

// What a program does with a SIGTRAP when hdb is dead: the handler that sigtrap.go
// puts there. The code is position independent.
//
//	DI = signal, SI = siginfo_t, DX = ucontext_t
TEXT sigtrapHandler<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL const_siginfoCode(SI), AX
	CMPL AX, $const_trapBack
	JEQ  back
	CMPL AX, $const_sigKernel
	JEQ  trap
	TESTL AX, AX
	JGT  out // a step or a watchpoint of hdb's

own:
	// The program's own: its handler's, as far as there is one that is known.
	BYTE $0x48; BYTE $0x8d; BYTE $0x05; LONG $0 // lea 0(%rip), %rax
	ANDQ $~(const_handlerPage-1), AX
	MOVQ (const_handlerPage+const_handlerFormer)(AX), AX
	TESTQ AX, AX
	JEQ  die
	JMP  AX

die:
	// Die of it, as without a handler.
	PUSHQ $0
	PUSHQ $0
	PUSHQ $0
	PUSHQ $0 // struct sigaction: SIG_DFL
	MOVL $5, DI
	MOVQ SP, SI
	XORL DX, DX
	MOVL $8, R10
	MOVL $13, AX // rt_sigaction
	SYSCALL
	ADDQ $32, SP
	MOVL $39, AX // getpid
	SYSCALL
	MOVL AX, DI
	MOVL $186, AX // gettid
	SYSCALL
	MOVL AX, SI
	MOVL $5, DX
	MOVL $234, AX // tgkill
	SYSCALL
	BYTE $0xc3

trap:
	// An int3: the guard is about to put back what was there.
	MOVQ DX, R12
	MOVQ SI, R13
	MOVL $1000, BX

again:
	MOVQ const_contextPC(R12), AX
	BYTE $0x80; BYTE $0x78; BYTE $0xff; BYTE $0xcc // cmpb $0xcc, -1(%rax)
	JNE  restored
	PUSHQ $1000000
	PUSHQ $0 // struct timespec: 1 ms
	MOVQ SP, DI
	XORL SI, SI
	MOVL $35, AX // nanosleep
	SYSCALL
	ADDQ $16, SP
	DECL BX
	JNE  again
	MOVL $5, DI
	MOVQ R13, SI
	MOVQ R12, DX
	JMP  own

restored:
	DECQ const_contextPC(R12)
	BYTE $0xc3

back:
	// hdb has taken the trap, but perhaps not set the PC back.
	MOVQ const_siginfoValue(SI), AX
	MOVQ AX, const_contextPC(DX)

out:
	BYTE $0xc3
	LONG $const_handlerEnd

// func sigtrapHandlerAddr() unsafe.Pointer
TEXT ·sigtrapHandlerAddr(SB), NOSPLIT, $0-8
	LEAQ sigtrapHandler<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
