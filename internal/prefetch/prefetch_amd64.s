#include "textflag.h"

// func Pairs(at []unsafe.Pointer)
TEXT ·Pairs(SB), NOSPLIT, $0-24
	MOVQ at_base+0(FP), SI
	MOVQ at_len+8(FP), CX
	LEAQ (SI)(CX*8), CX

next:
	CMPQ SI, CX
	JCC  done
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	ADDQ $8, SI
	JMP  next

done:
	RET

// func Lines(at []unsafe.Pointer)
TEXT ·Lines(SB), NOSPLIT, $0-24
	MOVQ at_base+0(FP), SI
	MOVQ at_len+8(FP), CX
	LEAQ (SI)(CX*8), CX

line:
	CMPQ SI, CX
	JCC  asked
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	JMP  line

asked:
	RET
