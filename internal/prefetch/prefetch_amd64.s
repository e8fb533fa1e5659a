#include "textflag.h"

// func Read(lines []uintptr)
TEXT ·Read(SB), NOSPLIT, $0-24
	MOVQ lines_base+0(FP), SI
	MOVQ lines_len+8(FP), CX
	LEAQ (SI)(CX*8), CX

next:
	CMPQ SI, CX
	JCC  done
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	JMP  next

done:
	RET
