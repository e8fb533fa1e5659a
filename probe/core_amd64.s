#include "go_asm.h"
#include "textflag.h"

// The core: what runs in the inferior when a call of an allocator function has
// to be looked at. Package probe copies these bytes into the inferior; nothing
// here runs in hdb. docs/probe.md explains the mechanism.
//
// In a nutshell: a thunk (thunk_x86.go) jumps to enterAlloc or enterFree. These
// find the thread's slot, tell calls by the user from those that an allocator
// makes to do its work, run the original function, and call record, which walks
// the stack and writes to the ring, or offer what a stop may want to hdb. Most calls of a recording take a shorter way,
// by quickAlloc, quickLong and quickFree.
//
// Contract with the inferior:
//   - The code is position independent but for STATE, which the injector
//     replaces by the address of the state page, and for calls of its own parts,
//     which the injector links (CALLTO).
//   - No vector or x87 register is touched, and no flag survives a call anyway
//     (System V ABI for x86-64, section 3.2.1).
//   - System calls: gettid once a thread, futex when the ring is filling up, and
//     those by which a match is offered. None of them by what stQuiet says.
//   - Loads from addresses that are not the probe's own are between MARKs of
//     a fault region (see faults in core.go); the debugger moves a thread that
//     faults there to the region's way out.
//   - A signal handler may run anywhere, allocate, and never return.

// MARK is a 7-byte NOP (nopl disp32(%rax)) that the injector finds by its number.
#define MARK(n) BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $(0x5afe0000+n)
// CALLTO calls the code at a mark.
#define CALLTO(n) BYTE $0xe8; LONG $(0x5afc0000+n)
#define XRET BYTE $0xc3
#define STATE $0x1122334455667788

// PREFETCHW_AHEAD asks for the lines of records to come, which the consumer has
// written last: prefetchw 512(%r8).
#define PREFETCHW_AHEAD BYTE $0x41; BYTE $0x0f; BYTE $0x0d; BYTE $0x88; LONG $512

// GETTID makes AX the TID. If the core makes no system calls, hdb tells it where the thread comes
// to a trap. A thread that may make none may not read the time stamp counter either: it faults there,
// and hdb knows the answer (see readTSC in fault.go).
//
//	clobbers CX, DX, R11
#define GETTID(ask, mark, done) \
	MOVQ STATE, R11; \
	XORL AX, AX; \
	TESTL $const_quietCalls, const_stQuiet(R11); \
	JNE  ask; \
	RDTSC; \
	MOVL $186, AX; \
	SYSCALL; \
	JMP  done; \
ask: \
	MARK(mark); \
done:

// From the argument registers and the return address to a frame, and back.
#define PUSHFRAME \
	LEAQ -32(SP), SP; \
	PUSHQ R9; PUSHQ R8; PUSHQ CX; PUSHQ DX; PUSHQ SI; PUSHQ DI; \
	PUSHQ R11; PUSHQ R10; PUSHQ $0

#define LOADARGS \
	MOVQ (const_frArgs+0)(SP), DI; \
	MOVQ (const_frArgs+8)(SP), SI; \
	MOVQ (const_frArgs+16)(SP), DX; \
	MOVQ (const_frArgs+24)(SP), CX; \
	MOVQ (const_frArgs+32)(SP), R8; \
	MOVQ (const_frArgs+40)(SP), R9

// MEMOAT makes of a PC and a stack pointer the tag that the memo has for them, in
// pc, and in way the first of the four places where it may be, from stMemo.
#define MEMOAT(pc, sp, way) \
	MOVQ $0x9e3779b97f4a7c15, way; \
	IMULQ way, pc; \
	MOVQ $0xd1342543de82ef95, way; \
	IMULQ sp, way; \
	ADDQ way, pc; \
	ORQ  $1, pc; \
	MEMOWAY(pc, way)

// MEMOWAY makes the place of a tag.
#define MEMOWAY(tag, way) \
	MOVQ tag, way; \
	SHRQ $(64-const_memoBits), way; \
	SHLQ $const_memoShift, way

// The frame of record, from its stack pointer up: what it was given, and rbp.
// Behind the return address is the caller's frame, with the slot.
#define rcW5 0
#define rcW4 8
#define rcW3 16
#define rcW2 24
#define rcW0 32
#define rcBP 40
#define rcFrame 56
#define rcSlot 64
#define rcSite 72
#define rcSize 152
#define rcRet 160 // the user's return address: const_frameSize+56

// rbp once record has pushed five words more.
#define dpBP (rcBP+40)

// While it walks, further registers are below.
#define wkGen 0
#define wkTag 8
#define wkBX 48
#define wkBP 96
#define wkG 24
#define wkSlot 120
#define wkSite 128
#define wkRet 216

TEXT core<>(SB), NOSPLIT|NOFRAME, $0-0

#include "core_quick_amd64.h"
#include "core_alloc_amd64.h"
#include "core_free_amd64.h"
#include "core_nest_amd64.h"
#include "core_walk_amd64.h"
#include "core_ring_amd64.h"
#include "core_python_amd64.h"
#include "core_pycode_amd64.h"
#include "core_match_amd64.h"
#include "core_go_amd64.h"

	MARK(const_markEnd)
	UNDEF

// func coreAddr() unsafe.Pointer
TEXT ·coreAddr(SB), NOSPLIT, $0-8
	LEAQ core<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func readTSC() uint64
TEXT ·readTSC(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
