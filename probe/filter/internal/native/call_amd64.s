#include "textflag.h"

// func call(code *byte, r *Registers)
//
// Called by Page.Run as any Go function (ABI0: all registers are the callee's,
// but rsp and rbp, which the assembler saves because there is a frame). Loads
// all general registers but rsp from r.R, with r.Stack at 0(SP), so at rsp+8 for
// the code, and calls the code. Then r.R gets the registers and r.Match the
// carry flag. The code has the rest of the nosplit stack, some hundred bytes.
// The runtime preempts neither assembly nor code it does not know.
//
//	0(SP)   r.Stack
//	8(SP)   code
//	16(SP)  rax, while it points to r
TEXT ·call(SB), NOSPLIT, $24-16
	MOVQ code+0(FP), AX
	MOVQ AX, 8(SP)
	MOVQ r+8(FP), AX
	MOVQ 128(AX), CX           // Stack
	MOVQ CX, 0(SP)
	MOVQ 8(AX), CX
	MOVQ 16(AX), DX
	MOVQ 24(AX), BX
	MOVQ 40(AX), BP
	MOVQ 48(AX), SI
	MOVQ 56(AX), DI
	MOVQ 64(AX), R8
	MOVQ 72(AX), R9
	MOVQ 80(AX), R10
	MOVQ 88(AX), R11
	MOVQ 96(AX), R12
	MOVQ 104(AX), R13
	MOVQ 112(AX), R14
	MOVQ 120(AX), R15
	MOVQ 0(AX), AX
	CALL 8(SP)
	MOVQ AX, 16(SP)
	MOVQ r+8(FP), AX           // moves leave the carry flag
	SETCS 136(AX)              // Match
	MOVQ CX, 8(AX)
	MOVQ DX, 16(AX)
	MOVQ BX, 24(AX)
	MOVQ BP, 40(AX)
	MOVQ SI, 48(AX)
	MOVQ DI, 56(AX)
	MOVQ R8, 64(AX)
	MOVQ R9, 72(AX)
	MOVQ R10, 80(AX)
	MOVQ R11, 88(AX)
	MOVQ R12, 96(AX)
	MOVQ R13, 104(AX)
	MOVQ R14, 112(AX)
	MOVQ R15, 120(AX)
	MOVQ 16(SP), CX
	MOVQ CX, 0(AX)             // rax
	MOVQ 0(SP), CX
	MOVQ CX, 128(AX)           // Stack
	RET
