#include "textflag.h"

// enter is the entry point of hdb as `make build` links it (-E main.enter). Go's runtime reserves some 700 MiB
// of address space before any code of the program runs, and where ulimit -v does not allow that, it dies with a dump of its
// own. So the limit is looked at first.
//
//	in: as the kernel starts a program (System V ABI, section 3.4.1): SP at argc
//
// It changes no memory but below SP, and registers that have no meaning at a program's entry.

#define sysWrite 1
#define sysGetrlimit 97
#define sysExitGroup 231
#define rlimitAS 9
#define leastSpace 0x40000000 // 1 GiB
#define exitTarget 4          // as in package main

DATA tooLittle<>+0(SB)/8, $"error: a"
DATA tooLittle<>+8(SB)/8, $"ddress s"
DATA tooLittle<>+16(SB)/8, $"pace: th"
DATA tooLittle<>+24(SB)/8, $"e limit "
DATA tooLittle<>+32(SB)/8, $"is below"
DATA tooLittle<>+40(SB)/8, $" 1 GiB, "
DATA tooLittle<>+48(SB)/8, $"which hd"
DATA tooLittle<>+56(SB)/8, $"b needs:"
DATA tooLittle<>+64(SB)/8, $" ulimit "
DATA tooLittle<>+72(SB)/8, $"-v unlim"
DATA tooLittle<>+80(SB)/4, $"ited"
DATA tooLittle<>+84(SB)/1, $"\n"
GLOBL tooLittle<>(SB), RODATA, $88

TEXT ·enter(SB), NOSPLIT|NOFRAME, $0
	MOVQ $sysGetrlimit, AX
	MOVQ $rlimitAS, DI
	LEAQ -16(SP), SI
	SYSCALL
	TESTQ AX, AX
	JNE begin
	MOVQ $leastSpace, AX
	CMPQ -16(SP), AX
	JCC begin
	MOVQ $sysWrite, AX
	MOVQ $2, DI
	LEAQ tooLittle<>(SB), SI
	MOVQ $85, DX
	SYSCALL
	MOVQ $sysExitGroup, AX
	MOVQ $exitTarget, DI
	SYSCALL

begin:
	XORL DX, DX // no function to call at exit
	JMP _rt0_amd64_linux(SB)
