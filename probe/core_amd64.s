#include "go_asm.h"
#include "textflag.h"

// The core: what runs in the inferior when a call of an allocator function has
// to be looked at. Package probe copies these bytes into the inferior; nothing
// here runs in hdb. docs/probe.md explains the mechanism.
//
// In a nutshell: a thunk (thunk_x86.go) jumps to enterAlloc or enterFree. These
// find the thread's slot, tell calls by the user from those that an allocator
// makes to do its work, run the original function, and call record, which walks
// the stack and writes to the ring.
//
// Contract with the inferior:
//   - The code is position independent but for STATE, which the injector
//     replaces by the address of the state page, and for calls of its own parts,
//     which the injector links (CALLTO).
//   - No vector or x87 register is touched, and no flag survives a call anyway
//     (System V ABI for x86-64, section 3.2.1).
//   - System calls: gettid once a thread, futex when the ring is filling up.
//   - Loads from addresses that are not the probe's own stand between MARKs of
//     a fault region (see faults in core.go); the debugger moves a thread that
//     faults there to the region's way out.
//   - A signal handler may run anywhere, allocate, and never return.

// MARK is a 7-byte NOP (nopl disp32(%rax)) that the injector finds by its number.
#define MARK(n) BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $(0x5afe0000+n)
// CALLTO calls the code at a mark.
#define CALLTO(n) BYTE $0xe8; LONG $(0x5afc0000+n)
#define XRET BYTE $0xc3
#define STATE $0x1122334455667788

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

TEXT core<>(SB), NOSPLIT|NOFRAME, $0-0

// enterAlloc: a call of a function that allocates, resizes or maps.
//
//	in:  as at the function's entry, but AX = key, R10 = the slot where the key
//	     should be, R11 = site
//	out: as from the function
//
// A call that does another one's work goes to the original function directly.
	MARK(const_markAlloc)
	PUSHFRAME
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  pass
	CMPQ AX, const_slKey(R10)
	JEQ  allocSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  pass
	MOVQ R10, const_frSlot(SP)
	MOVQ const_frSite(SP), R11

allocSlot:
	// CX = bytes asked for: an argument, a product or a constant
	MOVQ const_siConst(R11), CX
	MOVBLZX const_siSize(R11), DI
	CMPL DI, $6
	JCC  counted
	MOVQ const_frArgs(SP)(DI*8), CX

counted:
	MOVBLZX const_siCount(R11), DI
	CMPL DI, $6
	JCC  sized
	MOVQ const_frArgs(SP)(DI*8), AX
	MULQ CX
	MOVQ AX, CX
	JOC  sized
	MOVQ $-1, CX // the call fails

sized:
	MOVQ CX, const_frSize(SP)
	MOVL const_siFlags(R11), R8
	TESTL $(const_siteVM|const_siteZero), R8
	JEQ  nest
	TESTQ CX, CX
	JNE  notVoid
	TESTL $const_siteZero, R8
	JNE  pass

notVoid:
	CALLTO(const_markFreedVM)
	JEQ  pass

nest:
	MOVL const_slDepth(R10), DX
	TESTL DX, DX
	JEQ  own
	CALLTO(const_markTop) // DI = top entry; AX: 0 not made yet or elsewhere, 1 left, 2 jumped from, 3 inside
	CMPL AX, $1
	JLT  own
	JEQ  left
	CMPL AX, $2
	JEQ  jumped
	// inside: does it the work of the call around it?
	CALLTO(const_markWithin)
	JNE  ownInside
	MOVQ const_shSite(DI), SI
	MOVL const_siFlags(SI), AX
	TESTL $const_siteUser, AX
	JNE  jumped
	TESTB $0xff, AX // of the kind alloc, which is 0?
	JNE  jumped
	TESTL $const_siteVM, R8
	JNE  jumped
	TESTB $0xff, R8
	JNE  ownInside
	MOVBLZX const_siBit(R11), AX
	BTQ  AX, const_shServed(DI)
	JCS  ownInside // it has had that already
	TESTL $const_siteSized, R8
	JEQ  serves
	CMPQ CX, const_shSize(DI)
	JCS  ownInside // too small

	JMP  serves

jumped:
	MOVBLZX const_siBit(R11), AX

serves:
	BTSQ AX, const_shServed(DI)
	MOVQ R11, const_shLast(DI)
	JMP  pass

left:
	// The call of entry DI has been left by longjmp or an exception.
	MOVQ $0, const_shSP(DI)
	DECL DX
	MOVL DX, const_slDepth(R10)
	TESTL DX, DX
	JNE  nest
	MOVQ const_shSite(DI), SI
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  nest
	MOVQ const_shSize(DI), DX
	MOVQ const_siHead(SI), DI
	ORQ  $const_recAbandon, DI
	ANDQ $~const_flagLong, DI
	XORL SI, SI
	LEAQ (const_frameSize)(SP), AX
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ STATE, R9
	MOVQ const_frSize(SP), CX
	MOVL const_siFlags(R11), R8
	JMP  nest

ownInside:
	MOVL $const_flagInside, (const_frIndex+4)(SP)

own:
	CMPL DX, $const_shadowDepth
	JCS  room
	// More calls than can be inside of one another have been left. Start anew.
	LEAQ const_slShadow(R10), DI

clear:
	MOVQ $0, const_shSP(DI)
	ADDQ $const_shadowSize, DI
	DECL DX
	JNE  clear
	MOVL DX, (const_frIndex+4)(SP)

room:
	MOVL DX, const_frIndex(SP)
	MOVQ $0, const_slFreed(R10)
	INCQ const_slEvents(R10)
	TESTL $(const_modeNumber|const_modeLive), const_stMode(R9)
	JEQ  enter
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdCount(DI)
	LOCK
	ADDQ CX, const_hdLive(DI) // hdb takes what it must not be off again
	LOCK
	INCQ const_hdBlocks(DI)

enter:
	LEAL 1(DX), AX
	IMULQ $const_shadowSize, DX
	LEAQ const_slShadow(R10)(DX*1), DI
	MOVL AX, const_slDepth(R10) // from here on the entry exists, with shSP 0
	MOVQ const_frameSize(SP), AX
	MOVQ AX, const_shRet(DI)
	MOVQ R11, const_shSite(DI)
	MOVQ R11, const_shLast(DI)
	MOVQ CX, const_shSize(DI)
	MOVQ $0, const_shServed(DI)
	LEAQ const_frameSize(SP), AX
	MOVQ AX, const_shSP(DI)

	// realloc gives its old block up: another thread may be handed it before
	// the result is known.
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  run
	CMPB R8, $const_kindRealloc
	JNE  run
	MOVBLZX const_siOld(R11), DI
	MOVQ const_frArgs(SP)(DI*8), SI
	TESTQ SI, SI
	JEQ  run
	MOVQ const_siHead(R11), DI
	ORQ  $(const_recBegin|const_flagBare), DI
	ANDQ $~const_flagLong, DI
	MOVQ CX, DX
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	MOVQ const_frSite(SP), R11

run:
	MOVQ $0, const_frAddr(SP)
	LOADARGS
	TESTL $const_siteWide, const_siFlags(R11)
	MOVQ const_siReloc(R11), R11
	JNE  wide
	CALL R11
	MARK(const_markReturn)

returned:
	// AX, DX = the results
	MOVQ AX, const_frRes(SP)
	MOVQ DX, const_frRes2(SP)
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  back // disabled, or this is a fork child
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVL const_frIndex(SP), DX

popEntry:
	MOVL const_slDepth(R10), CX
	CMPL CX, DX
	JLS  popped
	DECL CX
	MOVL CX, const_slDepth(R10)
	IMULQ $const_shadowSize, CX
	MOVQ $0, (const_slShadow+const_shSP)(R10)(CX*1)
	JMP  popEntry

popped:
	// SI = the block
	MOVQ AX, SI
	MOVL const_siFlags(R11), R8
	CMPB const_siResult(R11), $0
	JEQ  succeeded
	TESTL AX, AX
	JEQ  succeeded
	ORL  $const_flagFailed, (const_frIndex+4)(SP)
	XORL SI, SI
	JMP  found

succeeded:
	MOVBLZX const_siPtr(R11), DI
	CMPL DI, $const_ptrReturned
	JEQ  found
	CMPL DI, $const_ptrPointed
	JEQ  pointed
	MOVQ const_frArgs(SP)(DI*8), SI
	JMP  found

pointed:
	MOVBLZX const_siPointed(R11), DI
	MOVQ const_frArgs(SP)(DI*8), SI
	MARK(const_markResult)
	MOVQ (SI), SI

found:
	MOVQ SI, const_frAddr(SP)
	TESTL $const_siteText, R8
	JEQ  measured
	TESTQ SI, SI
	JEQ  measured
	MOVQ SI, DI

measure:
	MOVBLZX (DI), AX
	INCQ DI
	TESTL AX, AX
	JNE  measure
	SUBQ SI, DI
	MOVQ DI, const_frSize(SP)

measured:
	MARK(const_markResultEnd)
	MOVQ const_siFilter(R11), DI
	TESTQ DI, DI
	JEQ  allocPassed
	CALL DI
	TESTL AX, AX
	JEQ  allocPassed
	MOVQ const_frSite(SP), R11
	TESTL $const_siteVerdict, const_siFlags(R11)
	JEQ  allocStops
	MOVL $const_recNumber, DI
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ STATE, R9
	MOVL const_slStack(R10), AX
	CMPL AX, $(1<<const_stackBits)
	JCC  allocStops
	MOVQ const_stVerdicts(R9), DI
	CMPB (DI)(AX*1), $const_verdictNo
	JEQ  allocPassed

allocStops:
	MOVQ STATE, R9
	MOVQ const_stHeader(R9), DI
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  orphan
	MARK(const_markTrapAlloc)
	JMP  back

allocPassed:
	MOVQ STATE, R9
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  back
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frAddr(SP), SI
	MOVQ const_frSize(SP), DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recAlloc, DI
	MOVL (const_frIndex+4)(SP), AX
	ORQ  AX, DI
	TESTL $const_flagLong, DI
	JEQ  short
	XORL R8, R8
	XORL R9, R9
	MOVBLZX const_siOld(R11), AX
	CMPL AX, $6
	JCC  noOld
	MOVQ const_frArgs(SP)(AX*8), R8

noOld:
	MOVBLZX const_siAlign(R11), AX
	CMPL AX, $6
	JCS  aux
	MOVBLZX const_siCount(R11), AX
	CMPL AX, $6
	JCC  short

aux:
	MOVQ const_frArgs(SP)(AX*8), R9

short:
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	JMP  back

orphan:
	MOVL $0, const_stEnabled(R9)

back:
	MOVQ const_frRes(SP), AX
	MOVQ const_frRes2(SP), DX
	ADDQ $const_frameSize, SP
	XRET

wide:
	// A function of the user's may take arguments on the stack: it gets copies.
	SUBQ $const_wideSize, SP
	XORL AX, AX
	MARK(const_markWide)

wideWord:
	MOVQ (const_wideSize+const_frameSize+8)(SP)(AX*8), R10
	MOVQ R10, (SP)(AX*8)
	INCL AX
	CMPL AX, $(const_wideSize/8)
	JCS  wideWord
	MARK(const_markWideEnd)
	CALL R11
	MARK(const_markReturnWide)
	ADDQ $const_wideSize, SP
	JMP  returned

pass:
	// The call is none of ours: the original function, as if nothing had been.
	LOADARGS
	MOVQ const_frSite(SP), R11
	ADDQ $const_frameSize, SP
	MOVQ const_siReloc(R11), R11
	JMP  R11

// enterFree: a call of a function that frees or unmaps. Registers as for
// enterAlloc. It is recorded before it runs, because then another thread may be
// handed the block.
	MARK(const_markFree)
	PUSHFRAME
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  pass
	MOVBLZX const_siPtr(R11), DI
	MOVQ const_frArgs(SP)(DI*8), SI
	TESTQ SI, SI
	JEQ  pass // free(NULL)
	MOVQ SI, const_frAddr(SP)
	CMPQ AX, const_slKey(R10)
	JEQ  freeSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  pass
	MOVQ R10, const_frSlot(SP)
	MOVQ const_frSite(SP), R11

freeSlot:
	XORL CX, CX
	MOVBLZX const_siSize(R11), DI
	CMPL DI, $6
	JCC  freeSized
	MOVQ const_frArgs(SP)(DI*8), CX

freeSized:
	MOVQ CX, const_frSize(SP)
	MOVL const_siFlags(R11), R8

freeNest:
	MOVL const_slDepth(R10), DX
	TESTL DX, DX
	JEQ  freeFreed
	CALLTO(const_markTop)
	CMPL AX, $1
	JLT  freeFreed
	JEQ  freeLeft
	CMPL AX, $2
	JEQ  freeJumped
	CALLTO(const_markWithin)
	JNE  freeInside

freeJumped:
	MOVQ const_shSite(DI), SI
	MOVL const_siFlags(SI), AX
	TESTL $const_siteUser, AX
	JNE  pass
	TESTB $0xff, AX
	JNE  pass // a realloc's old block
	TESTL $const_siteVM, R8
	JNE  pass

freeInside:
	MOVL $const_flagInside, (const_frIndex+4)(SP)
	JMP  freeFreed

freeLeft:
	MOVQ $0, const_shSP(DI)
	DECL DX
	MOVL DX, const_slDepth(R10)
	TESTL DX, DX
	JNE  freeNest
	MOVQ const_shSite(DI), SI
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  freeNest
	MOVQ const_shSize(DI), DX
	MOVQ const_siHead(SI), DI
	ORQ  $const_recAbandon, DI
	ANDQ $~const_flagLong, DI
	XORL SI, SI
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ STATE, R9
	MOVL const_siFlags(R11), R8
	JMP  freeNest

freeFreed:
	// Is it further work on the block that was freed last?
	TESTL $const_siteVM, R8
	JEQ  freeAgain
	CALLTO(const_markFreedVM)
	JEQ  pass
	JMP  freeOwn

freeAgain:
	MOVQ const_slFreed(R10), DI
	CMPQ DI, const_frAddr(SP)
	JNE  freeFirst
	LEAQ const_frameSize(SP), AX
	MOVQ const_slFreedSP(R10), DI
	CMPQ AX, DI
	JHI  freeFirst
	MOVBLZX const_siBit(R11), AX
	BTQ  AX, const_slFreedDone(R10)
	JCS  freeFirst
	MARK(const_markAgain)
	MOVQ (DI), DI
	MARK(const_markAgainEnd)
	CMPQ DI, const_slFreedRet(R10)
	JNE  freeFirst
	BTSQ AX, const_slFreedDone(R10)
	MOVQ R11, const_slFreedSite(R10)
	JMP  pass

freeFirst:
	MARK(const_markFreeFirst)
	MOVQ const_frAddr(SP), SI
	MOVQ $0, const_slFreed(R10)
	LEAQ const_frameSize(SP), AX
	MOVQ AX, const_slFreedSP(R10)
	MOVQ const_frameSize(SP), AX
	MOVQ AX, const_slFreedRet(R10)
	MOVBLZX const_siBit(R11), CX
	MOVL $1, AX
	SHLQ CX, AX
	MOVQ AX, const_slFreedDone(R10)
	MOVQ R11, const_slFreedSite(R10)
	MOVQ SI, const_slFreed(R10)

freeOwn:
	INCQ const_slEvents(R10)
	TESTL $const_modeNumber, const_stMode(R9)
	JEQ  freeFilter
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdCount(DI)

freeFilter:
	MOVQ const_siFilter(R11), DI
	TESTQ DI, DI
	JEQ  freePassed
	CALL DI
	TESTL AX, AX
	JEQ  freePassed
	MOVQ const_frSite(SP), R11
	TESTL $const_siteVerdict, const_siFlags(R11)
	JEQ  freeStops
	MOVL $const_recNumber, DI
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ STATE, R9
	MOVL const_slStack(R10), AX
	CMPL AX, $(1<<const_stackBits)
	JCC  freeStops
	MOVQ const_stVerdicts(R9), DI
	CMPB (DI)(AX*1), $const_verdictNo
	JEQ  freePassed

freeStops:
	MOVQ STATE, R9
	MOVQ const_stHeader(R9), DI
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  freeOrphan
	MARK(const_markTrapFree)
	JMP  pass

freePassed:
	MOVQ STATE, R9
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  pass
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frAddr(SP), SI
	MOVQ const_frSize(SP), DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recFree, DI
	MOVL (const_frIndex+4)(SP), AX
	ORQ  AX, DI
	LEAQ const_frameSize(SP), AX
	CALLTO(const_markRecord)
	JMP  pass

freeOrphan:
	MOVL $0, const_stEnabled(R9)
	JMP  pass

// top judges the innermost call in progress against the call being entered.
//
//	in:  R9 = state, R10 = slot, R11 = site, DX = depth, not 0; called from the frame
//	out: DI = its entry; AX = 0 nothing can be said, 1 it has been left, 2 it
//	     jumped here, 3 this call is inside of it
//	clobbers SI, flags
	MARK(const_markTop)
	IMUL3Q $const_shadowSize, DX, DI
	LEAQ (const_slShadow-const_shadowSize)(R10)(DI*1), DI
	XORL AX, AX
	MOVQ const_shSP(DI), SI
	TESTQ SI, SI
	JEQ  topDone // a signal handler, called while the entry was being made
	SUBQ SP, SI
	SUBQ $(const_frameSize+8), SI // how far above this call's return address
	ADDQ $0x800000, SI
	CMPQ SI, $0x1000000
	JCC  topDone // on another stack
	INCL AX
	SUBQ $0x800000, SI
	JLE  topDone
	// The original returns to its thunk or to the core; what has jumped on to
	// here does so, too.
	MOVQ (const_frameSize+8)(SP), AX
	MOVQ const_shSite(DI), SI
	CMPQ AX, const_siTail(SI)
	JEQ  topJumped
	CMPQ AX, const_stReturn(R9)
	JEQ  topJumped
	CMPQ AX, const_stReturnWide(R9)
	JEQ  topJumped
	MOVL $1, AX
	MOVQ const_shSP(DI), SI
	MARK(const_markIntact)
	MOVQ (SI), SI
	MARK(const_markIntactEnd)
	CMPQ SI, const_shRet(DI)
	JNE  topDone
	MOVL $3, AX
	XRET

topJumped:
	MOVL $2, AX

topDone:
	MARK(const_markTopDone)
	XRET

// within tells whether the call being entered comes from a module whose
// function is at work in entry DI: ZF set if so, or if that is the user's own.
//
//	in:  DI = entry; called from the frame
//	clobbers AX, SI
	MARK(const_markWithin)
	MOVQ const_shSite(DI), SI
	MOVQ (const_frameSize+8)(SP), AX
	TESTL $const_siteUser, const_siFlags(SI)
	JNE  withinYes
	SUBQ const_siModLow(SI), AX
	CMPQ AX, const_siModLen(SI)
	JCS  withinYes
	MOVQ const_shLast(DI), SI
	MOVQ (const_frameSize+8)(SP), AX
	SUBQ const_siModLow(SI), AX
	CMPQ AX, const_siModLen(SI)
	JCS  withinYes
	MOVL $1, AX
	TESTL AX, AX
	XRET

withinYes:
	XORL AX, AX
	XRET

// freedVM tells whether a call of mmap's family belongs to the last free: ZF
// set if so.
//
//	in:  R10 = slot; called from the frame
//	clobbers AX, DI
	MARK(const_markFreedVM)
	CMPQ const_slFreed(R10), $0
	JEQ  freedNo
	LEAQ (const_frameSize+8)(SP), AX
	MOVQ const_slFreedSP(R10), DI
	CMPQ AX, DI
	JHI  freedNo
	MARK(const_markFreed)
	MOVQ (DI), AX
	MARK(const_markFreedEnd)
	CMPQ AX, const_slFreedRet(R10)
	JNE  freedNo
	MOVQ const_slFreedSite(R10), DI
	MOVQ (const_frameSize+8)(SP), AX
	SUBQ const_siModLow(DI), AX
	CMPQ AX, const_siModLen(DI)
	JCC  freedNo
	XORL AX, AX
	XRET

freedNo:
	MARK(const_markFreedNo)
	MOVL $1, AX
	TESTL AX, AX
	XRET

// find looks for the slot of a thread, and takes one for it if it has none.
//
//	in:  AX = key, R9 = state
//	out: R10 = slot, 0 if there is none to be had
//	clobbers AX, CX, DX, DI, SI, R8, R11
	MARK(const_markFind)
	MOVQ AX, R8
	TESTQ AX, AX
	JEQ  findNone
	IMULQ $-const_slotHash, AX
	SHRQ $(64-const_slotBits), AX
	MOVL $const_numSlots, DX
	MOVQ const_stSlots(R9), SI

findNext:
	MOVQ AX, R10
	SHLQ $const_slotShift, R10
	ADDQ SI, R10
	CMPQ const_slKey(R10), R8
	JEQ  findDone
	CMPQ const_slKey(R10), $0
	JEQ  findFree

findOn:
	INCL AX
	ANDL $(const_numSlots-1), AX
	DECL DX
	JNE  findNext

findNone:
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdNoSlot(DI)
	XORL R10, R10
	XRET

findFree:
	MOVQ AX, R11
	XORL AX, AX
	LOCK
	CMPXCHGQ R8, const_slKey(R10)
	XCHGQ AX, R11
	JEQ  findNew
	CMPQ R11, R8
	JNE  findOn // another thread was faster
	XRET

findNew:
	// The rest of a free slot is zero.
	MOVL $186, AX // gettid
	SYSCALL
	MOVL AX, const_slTID(R10)

findDone:
	XRET

// The frame of record, from its stack pointer up: what it was given, and the
// registers that walking needs.
#define rcGen 0
#define rcSlot 8
#define rcSP 16
#define rcW5 24
#define rcW4 32
#define rcW3 40
#define rcW2 48
#define rcW0 56
#define rcBP 96
#define rcBX 104

// R8 = PC, R9 = stack pointer -> R12 = where the memo may have them; clobbers DX.
#define MEMOAT \
	MOVQ R9, R12; \
	SHRQ $3, R12; \
	XORQ R8, R12; \
	MOVQ $0x9e3779b97f4a7c15, DX; \
	IMULQ DX, R12; \
	SHRQ $(64-const_memoBits), R12; \
	ANDQ $~3, R12; \
	IMULQ $const_memoEntry, R12; \
	ADDQ const_stMemo(R11), R12

// record writes a record of a call, with the number of its stack, to the ring.
// With the type recNumber it only leaves that number in the slot.
//
//	in:  DI = first word without TID and stack, SI = address, DX = size,
//	     R8 = old block, R9 = count or alignment (if flagLong),
//	     R10 = slot, AX = address of the return address; BX and BP as the
//	     caller of the function has them
//	out: nothing
//	clobbers all but BX, BP, R12-R15
	MARK(const_markRecord)
	PUSHQ BX
	PUSHQ BP
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	PUSHQ DI
	PUSHQ SI
	PUSHQ DX
	PUSHQ R8
	PUSHQ R9
	PUSHQ AX
	PUSHQ R10
	INCQ const_slGen(R10)
	PUSHQ const_slGen(R10)
	MOVQ STATE, R11
	MOVQ const_stHeader(R11), CX
	TESTL $const_ownerDied, const_hdAlive(CX)
	JNE  recOrphan
	MOVQ AX, R15
	CMPL const_slTID(R10), $0
	JNE  known
	MOVL $186, AX // gettid: a handler ran before find had done it
	SYSCALL
	MOVQ rcSlot(SP), R10
	MOVL AX, const_slTID(R10)
	MOVQ STATE, R11

known:
	MOVL $const_noStack, BX
	TESTL $const_flagBare, rcW0(SP)
	JNE  emit
	// R8 = PC, R9 = stack pointer of the caller
	MOVQ (R15), R8
	LEAQ 8(R15), R9

	// The memo: if the words that an earlier walk from here read are the same,
	// so is the stack.
	MEMOAT
	MOVL $4, R14

memoWay:
	CMPQ const_mePC(R12), R8
	JNE  memoNext
	CMPQ const_meSP(R12), R9
	JNE  memoNext
	MOVQ const_meSeq(R12), R13
	TESTQ $1, R13
	JNE  memoNext
	MOVL const_meCount(R12), CX
	MOVL const_meStack(R12), BX
	TESTL CX, CX
	JEQ  memoNext
	CMPL CX, $const_memoWords
	JHI  memoNext
	MARK(const_markMemo)

memoWord:
	MOVLQSX (const_meOffset-4)(R12)(CX*4), AX
	MOVQ (const_meValue-8)(R12)(CX*8), DX
	CMPQ (R9)(AX*1), DX
	JNE  memoNext
	DECL CX
	JNE  memoWord
	CMPQ const_meSeq(R12), R13
	JEQ  emit

memoNext:
	MARK(const_markMemoEnd)
	ADDQ $const_memoEntry, R12
	DECL R14
	JNE  memoWay
	MARK(const_markWalk)

walkAnew:
	// The walk. R8 = PC (after an interrupted one: PC+1), R9 = stack pointer,
	// R10 = rbp, R12 = where rbp was found, CX = frames so far, AX = their hash,
	// R13 = scratch, SI = PC cache, DI = rules, BP = the hash before this frame
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdWalks(DX)
	MOVQ rcSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	MOVQ rcBP(SP), R10
	LEAQ rcBP(SP), R12
	LEAQ rcBX(SP), DX
	MOVQ DX, const_xRBX(R13)
	MOVQ $0, const_xPairs(R13)
	MOVQ const_stCache(R11), SI
	MOVQ const_stRules(R11), DI
	XORL CX, CX
	MOVQ $0x243f6a8885a308d3, AX
	MOVQ $0x9e3779b97f4a7c15, R14

walk:
	MOVQ AX, BP
	MOVQ R8, const_xPCs(R13)(CX*8)
	XORQ R8, AX

walkFlagged:
	IMULQ R14, AX
	RORQ $29, AX
	INCL CX
	MOVQ R8, BX
	SHRQ $13, BX
	XORL R8, BX
	ANDL $((1<<const_cacheBits)-1), BX
	MOVQ (SI)(BX*8), DX
	MOVQ DX, R15
	SHRQ $16, R15
	CMPQ R15, R8
	JNE  miss
	MOVWLZX DX, DX

rule:
	MOVQ (DI)(DX*8), DX
	MOVQ DX, BX
	SARQ $32, BX
	TESTB $0xff, DX
	JNE  special
	ADDQ R9, BX // CFA = rsp+off

cfa:
	MARK(const_markFrame)
	MOVQ BX, (const_xCFAs-8)(R13)(CX*8)
	MOVQ -8(BX), R8
	TESTL $(const_ruleBP|const_ruleBX|const_ruleOdd), DX
	JEQ  noSaved
	TESTL $const_ruleOdd, DX
	JNE  odd
	TESTL $const_ruleBX, DX
	JEQ  noBX
	MOVL DX, R15
	SHRL $16, R15
	MOVBQSX R15, R15
	LEAQ (BX)(R15*8), R15
	MOVQ R15, const_xRBX(R13)

noBX:
	TESTL $const_ruleBP, DX
	JEQ  noSaved
	MOVL DX, R15
	SHRL $8, R15
	MOVBQSX R15, R15
	LEAQ (BX)(R15*8), R12
	MOVQ (R12), R10

noSaved:
	MOVQ BX, R9
	TESTQ R8, R8
	JEQ  zero
	CMPL CX, const_stDepth(R11)
	JCS  walk
	MOVL $const_endDepth, DX
	JMP  cut

odd:
	// Registers that are lost, or saved relative to the frame pointer.
	MOVQ $const_maxPairs, const_xPairs(R13)
	TESTL $(const_ruleBXBP|const_ruleBX|const_ruleNoBX), DX
	JEQ  oddBP
	TESTL $const_ruleNoBX, DX
	JEQ  oddBX
	LEAQ const_stZero(R11), R15
	MOVQ R15, const_xRBX(R13)
	JMP  oddBP

oddBX:
	MOVL DX, R15
	SHRL $16, R15
	MOVBQSX R15, R15
	TESTL $const_ruleBXBP, DX
	JNE  oddBXBP
	LEAQ (BX)(R15*8), R15
	MOVQ R15, const_xRBX(R13)
	JMP  oddBP

oddBXBP:
	LEAQ (R10)(R15*8), R15
	MOVQ R15, const_xRBX(R13)

oddBP:
	TESTL $const_ruleNoBP, DX
	JNE  lostBP
	TESTL $(const_ruleBPBP|const_ruleBP), DX
	JEQ  noSaved
	MOVL DX, R15
	SHRL $8, R15
	MOVBQSX R15, R15
	TESTL $const_ruleBPBP, DX
	JNE  oddBPBP
	LEAQ (BX)(R15*8), R12
	MOVQ (R12), R10
	JMP  noSaved

oddBPBP:
	LEAQ (R10)(R15*8), R12
	MOVQ (R12), R10
	JMP  noSaved

lostBP:
	LEAQ const_stZero(R11), R12
	XORL R10, R10
	JMP  noSaved

zero:
	MARK(const_markFrameEnd)
	// Return address 0: the first frame of a thread, if its stack holds nothing else.
	MOVQ DX, R15
	SHRQ $32, R15
	CMPL R15, $8
	JNE  zeroInside
	TESTB $0xff, DX
	JEQ  whole

zeroInside:
	MOVL $const_endZero, DX
	JMP  cut

special:
	CMPB DX, $const_formBP
	JNE  notBP
	ADDQ R10, BX
	MOVQ const_xPairs(R13), R15
	CMPQ R15, $const_maxPairs
	JCC  grows
	MOVQ R12, const_xPair(R13)(R15*1)
	MOVQ R10, (const_xPair+8)(R13)(R15*1)
	ADDQ $16, const_xPairs(R13)

grows:
	CMPQ BX, R9
	JHI  cfa
	MOVL $const_endShrinks, DX
	JMP  cut

notBP:
	CMPB DX, $const_formDerefBP
	JNE  notDeref
	MOVQ $const_maxPairs, const_xPairs(R13)
	ADDQ R10, BX
	MARK(const_markDeref)
	MOVQ (BX), BX
	JMP  grows

notDeref:
	CMPB DX, $const_formBX
	JNE  notBX
	MOVQ $const_maxPairs, const_xPairs(R13)
	MOVQ const_xRBX(R13), R15
	ADDQ (R15), BX
	MARK(const_markDerefEnd)
	MOVQ rcSlot(SP), R15
	MOVQ const_slGen(R15), R15
	CMPQ R15, rcGen(SP)
	JEQ  grows
	JMP  again // a signal handler has used the scratch memory

notBX:
	CMPB DX, $const_formRoot
	JEQ  whole
	CMPB DX, $const_formEntry
	JEQ  whole
	CMPB DX, $const_formHidden
	JEQ  hidden
	MOVQ $const_maxPairs, const_xPairs(R13)
	CMPB DX, $const_formSignal
	JEQ  signal
	CMPB DX, $const_formPLT
	JEQ  plt
	CMPB DX, $const_formNoCFI
	JEQ  byPointer
	CMPB DX, $const_formNoModule
	JEQ  generated
	MOVL $const_endRule, DX
	JMP  cut

hidden:
	// The probe's own frame, inside of which another call was made.
	MOVQ $const_maxPairs, const_xPairs(R13)
	MOVQ BP, AX
	DECL CX
	ADDQ R9, BX
	JMP  cfa

plt:
	LEAQ -1(R8), R15
	ANDL $15, R15
	CMPQ R15, BX
	LEAQ 8(R9), BX
	JCS  cfa
	ADDQ $8, BX
	JMP  cfa

signal:
	// R9 points to struct ucontext: the registers begin 40 bytes into it
	// (struct sigcontext_64, asm/sigcontext.h).
	MARK(const_markSignal)
	MOVQ 168(R9), R8
	MOVQ 120(R9), R10
	LEAQ 120(R9), R12
	LEAQ 128(R9), R15
	MOVQ R15, const_xRBX(R13)
	MOVQ 160(R9), R9
	MARK(const_markSignalEnd)
	MOVL $const_endDepth, DX
	CMPL CX, const_stDepth(R11)
	JCC  cut
	MOVQ AX, BP
	MOVQ R8, R15
	BTSQ $const_framePC, R15
	MOVQ R15, const_xPCs(R13)(CX*8)
	XORQ R15, AX
	INCQ R8
	JMP  walkFlagged

generated:
	// Code in no module. It is a frame only if it is behind a call.
	MOVQ (const_xPCs-8)(R13)(CX*8), R15
	BTQ  $const_framePC, R15
	JCS  noFrame
	MOVQ R8, R15
	CALLTO(const_markBehind)
	JEQ  byPointer
	DECL CX
	MOVQ BP, AX
	MOVL $const_endNoCode, DX
	JMP  cut

byPointer:
	// No CFI: rbp is taken for a frame pointer if what it points to looks so.
	MOVQ (const_xPCs-8)(R13)(CX*8), R15
	BTQ  $const_framePC, R15
	JCS  noFrame
	TESTQ $7, R10
	JNE  noFrame
	CMPQ R10, R9
	JCS  noFrame
	MARK(const_markPointer)
	MOVQ 8(R10), R15
	MOVQ (R10), BX
	CALLTO(const_markBehind)
	JNE  noFrame
	LEAQ 16(R10), R9
	MOVQ R10, R12
	MOVQ BX, R10
	MOVQ R15, R8
	LEAQ const_stZero(R11), DX
	MOVQ DX, const_xRBX(R13)
	MOVL $const_endDepth, DX
	CMPL CX, const_stDepth(R11)
	JCC  cut
	MOVQ AX, BP
	BTSQ $const_frameGuess, R15
	MOVQ R15, const_xPCs(R13)(CX*8)
	XORQ R15, AX
	JMP  walkFlagged

noFrame:
	MARK(const_markNoFrame)
	MOVL $const_endNoCFI, DX
	JMP  cut

	MARK(const_markFault)
	MOVL $const_endFault, DX

cut:
	MOVQ $const_maxPairs, const_xPairs(R13)
	XORQ DX, AX // the same frames with another end are another stack
	IMULQ R14, AX
	JMP  hashed

whole:
	XORL DX, DX

hashed:
	// AX = hash, CX = frames, DX = how it ends: has the stack a number?
	ORQ  $1, AX
	MOVQ AX, R15
	MOVL DX, R10
	MOVQ const_stStacks(R11), SI
	MOVQ R15, BX
	SHRQ $20, BX
	MOVL $const_stackTry, R12

place:
	ANDL $((1<<const_stackBits)-1), BX
	MOVQ (SI)(BX*8), DX
	CMPQ DX, R15
	JEQ  numbered
	TESTQ DX, DX
	JNE  placeNext
	XORL AX, AX
	LOCK
	CMPXCHGQ R15, (SI)(BX*8)
	JEQ  publish
	CMPQ AX, R15
	JEQ  numbered

placeNext:
	INCL BX
	DECL R12
	JNE  place
	MOVL $(const_noStack-1), BX // no place: its frames are sent each time

publish:
	// BX = number, CX = frames, R10 = end
	MOVL CX, R13
	LEAQ 31(CX*8), R14
	ANDQ $~15, R14
	CALLTO(const_markReserve)
	TESTQ R12, R12
	JEQ  unpublished
	MOVL R13, CX
	MOVQ rcSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	XORL SI, SI

copy:
	CMPL SI, CX
	JCC  copied
	MOVQ const_xPCs(R13)(SI*8), DX
	MOVQ DX, 16(R12)(SI*8)
	INCL SI
	JMP  copy

copied:
	MOVQ rcSlot(SP), DX
	MOVL const_slTID(DX), SI
	MOVQ const_slGen(DX), DX
	CMPQ DX, rcGen(SP)
	JNE  spoilt
	MOVQ BX, DX
	SHLQ $const_stackShift, DX
	MOVL R10, AX
	SHLQ $const_reasonShift, AX
	ORQ  AX, DX
	MOVL CX, AX
	SHLQ $const_countShift, AX
	ORQ  AX, DX
	ORQ  $const_recStack, DX
	MOVQ SI, 8(R12)
	MOVQ DX, 0(R12) // complete
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdNew(DX)
	JMP  numbered

spoilt:
	// A signal handler has used the scratch memory: what was copied is not the
	// stack. Give the number back and walk again.
	SHRQ $4, R14
	SHLQ $const_countShift, R14
	ORQ  $const_recPad, R14
	MOVQ R14, 0(R12)
	CMPL BX, $(const_noStack-1)
	JEQ  again
	MOVQ const_stStacks(R11), SI
	MOVQ $0, (SI)(BX*8)

again:
	MOVQ rcSlot(SP), R10
	INCQ const_slGen(R10)
	MOVQ const_slGen(R10), DX
	MOVQ DX, rcGen(SP)
	MOVQ rcSP(SP), R15
	MOVQ (R15), R8
	LEAQ 8(R15), R9
	JMP  walkAnew

unpublished:
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdLostSt(DX)
	CMPL BX, $(const_noStack-1)
	JEQ  lostStack
	MOVQ const_stStacks(R11), SI
	MOVQ $0, (SI)(BX*8)

lostStack:
	MOVL $const_noStack, BX
	JMP  emit

numbered:
	// Keep the words read in the memo, if they are few and all were the walk's.
	MOVQ rcSlot(SP), R10
	MOVQ R10, R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	MOVQ const_xPairs(R13), R14
	CMPQ R14, $const_maxPairs
	JCC  emit
	DECL CX
	JLE  emit
	SHRL $4, R14
	LEAL (CX)(R14*1), AX
	CMPL AX, $const_memoWords
	JHI  emit
	MOVL AX, R15
	MOVQ const_xPCs(R13), R8
	MOVQ rcSP(SP), R9
	ADDQ $8, R9
	MEMOAT
	RDTSC // one of the four ways at random
	SHRL $4, AX
	ANDL $3, AX
	IMULQ $const_memoEntry, AX
	ADDQ AX, R12
	MOVQ const_meSeq(R12), AX
	TESTB $1, AX
	JNE  emit
	LEAQ 1(AX), DX
	LOCK
	CMPXCHGQ DX, const_meSeq(R12)
	JNE  emit
	MOVQ DX, DI
	MOVQ R8, const_mePC(R12)
	MOVQ R9, const_meSP(R12)
	MOVL R15, const_meCount(R12)
	MOVL BX, const_meStack(R12)
	XORL SI, SI

memoFrame:
	MOVQ const_xCFAs(R13)(SI*8), AX
	SUBQ $8, AX
	SUBQ R9, AX
	MOVL AX, const_meOffset(R12)(SI*4)
	MOVQ (const_xPCs+8)(R13)(SI*8), AX
	MOVQ AX, const_meValue(R12)(SI*8)
	INCL SI
	CMPL SI, CX
	JCS  memoFrame
	LEAQ const_xPair(R13), DX

memoPair:
	TESTL R14, R14
	JEQ  memoDone
	MOVQ 0(DX), AX
	SUBQ R9, AX
	MOVL AX, const_meOffset(R12)(SI*4)
	MOVQ 8(DX), AX
	MOVQ AX, const_meValue(R12)(SI*8)
	INCL SI
	ADDQ $16, DX
	DECL R14
	JMP  memoPair

memoDone:
	MOVQ const_slGen(R10), AX
	CMPQ AX, rcGen(SP)
	JEQ  memoKept
	MOVL $0, const_meCount(R12) // a signal handler has used the scratch memory

memoKept:
	INCQ DI
	MOVQ DI, const_meSeq(R12)

emit:
	// BX = number of the stack
	MOVQ rcSlot(SP), R10
	MOVL BX, const_slStack(R10)
	MOVL rcW0(SP), AX
	ANDL $const_typeMask, AX
	CMPL AX, $const_recNumber
	JEQ  recBack
	MOVL $const_recordSize, R14
	TESTL $const_flagLong, rcW0(SP)
	JEQ  emitShort
	MOVL $const_longRecord, R14

emitShort:
	CALLTO(const_markReserve)
	TESTQ R12, R12
	JEQ  lost
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, 8(R12)
	MOVQ rcW2(SP), AX
	MOVQ AX, 16(R12)
	MOVQ rcW3(SP), AX
	MOVQ AX, 24(R12)
	TESTL $const_flagLong, rcW0(SP)
	JEQ  emitHead
	MOVQ rcW4(SP), AX
	MOVQ AX, 32(R12)
	MOVQ rcW5(SP), AX
	MOVQ AX, 40(R12)

emitHead:
	MOVQ rcSlot(SP), R10
	MOVL const_slTID(R10), AX
	SHLQ $const_tidShift, AX
	SHLQ $const_stackShift, BX
	ORQ  BX, AX
	ORQ  rcW0(SP), AX
	MOVQ AX, 0(R12) // complete

recBack:
	ADDQ $64, SP
	POPQ R15
	POPQ R14
	POPQ R13
	POPQ R12
	POPQ BP
	POPQ BX
	XRET

lost:
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdLost(DX)
	JMP  recBack

recOrphan:
	MOVL $0, const_stEnabled(R11)
	JMP  recBack

miss:
	// R8 = PC, BX = its place in the cache: look the rule up and keep it.
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdMiss(DX)
	PUSHQ R14
	PUSHQ R12
	PUSHQ R13
	MOVQ const_stModules(R11), R12
	MOVQ const_stNumMods(R11), R14

module:
	TESTQ R14, R14
	JEQ  noModule
	LEAQ -1(R8), R15
	SUBQ const_moLow(R12), R15
	CMPQ R15, const_moLen(R12)
	JCS  inModule
	ADDQ $const_modSize, R12
	DECQ R14
	JMP  module

inModule:
	// The last row that begins at or below R15.
	MOVQ const_moOffs(R12), DX
	MOVQ const_moRows(R12), R14

halve:
	CMPQ R14, $1
	JLE  halved
	MOVQ R14, R13
	SHRQ $1, R13
	CMPL R15, (DX)(R13*4)
	JCS  lower
	LEAQ (DX)(R13*4), DX
	SUBQ R13, R14
	JMP  halve

lower:
	MOVQ R13, R14
	JMP  halve

halved:
	SUBQ const_moOffs(R12), DX
	SHRQ $1, DX
	MOVQ const_moIDs(R12), R14
	MOVWLZX (R14)(DX*1), DX
	JMP  keep

noModule:
	MOVL $const_ruleNoMod, DX

keep:
	MOVQ R8, R15
	SHLQ $16, R15
	ORQ  DX, R15
	MOVQ R15, (SI)(BX*8)
	POPQ R13
	POPQ R12
	POPQ R14
	JMP  rule

// behind tells whether the instruction before R15 can be a call: ZF set if so.
// It looks for call rel32, and for the opcode ff /2 at the distances that its
// operands allow.
//
//	clobbers DX, R12 is kept
	MARK(const_markBehind)
	CMPB -5(R15), $0xe8
	JEQ  behindYes
	CMPB -2(R15), $0xff
	JNE  behind3
	MOVBLZX -1(R15), DX
	SHRL $3, DX
	ANDL $7, DX
	CMPL DX, $2
	JEQ  behindYes

behind3:
	CMPB -3(R15), $0xff
	JNE  behind4
	MOVBLZX -2(R15), DX
	SHRL $3, DX
	ANDL $7, DX
	CMPL DX, $2
	JEQ  behindYes

behind4:
	CMPB -4(R15), $0xff
	JNE  behind6
	MOVBLZX -3(R15), DX
	SHRL $3, DX
	ANDL $7, DX
	CMPL DX, $2
	JEQ  behindYes

behind6:
	CMPB -6(R15), $0xff
	JNE  behind7
	MOVBLZX -5(R15), DX
	SHRL $3, DX
	ANDL $7, DX
	CMPL DX, $2
	JEQ  behindYes

behind7:
	CMPB -7(R15), $0xff
	JNE  behindNo
	MOVBLZX -6(R15), DX
	SHRL $3, DX
	ANDL $7, DX
	CMPL DX, $2
	JEQ  behindYes

behindNo:
	MARK(const_markBehindNo)
	MOVL $1, DX
	TESTL DX, DX
	XRET

behindYes:
	XORL DX, DX
	XRET

// reserve takes R14 bytes of the ring, and waits for room, but not for ever.
//
//	in:  R11 = state
//	out: R12 = where, 0 if there is no room
//	clobbers AX, CX, DX, DI, SI, R8
	MARK(const_markReserve)
	MOVQ const_stHeader(R11), DI

reserve:
	MOVQ const_hdHead(DI), AX
	LEAQ (AX)(R14*1), DX
	MOVQ DX, CX
	SUBQ const_stSize(R11), CX
	CMPQ CX, const_hdTail(DI)
	JGT  full
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  reserve
	MOVQ const_stSize(R11), R12
	DECQ R12
	ANDQ AX, R12
	ADDQ const_stRing(R11), R12
	CMPQ DX, const_hdWakeAt(DI)
	JCS  reserved
	CMPL const_hdSleep(DI), $0
	JEQ  reserved
	CALLTO(const_markWake)

reserved:
	XRET

full:
	CMPL const_hdStalled(DI), $0
	JNE  noRoom
	LOCK
	INCQ const_hdFull(DI)
	CMPL const_hdSleep(DI), $0
	JEQ  wait
	CALLTO(const_markWake)

wait:
	MOVL $200, R8 // times 10 ms

waitMore:
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  noRoom
	MOVQ const_hdHead(DI), DX
	ADDQ R14, DX
	SUBQ const_stSize(R11), DX
	CMPQ DX, const_hdTail(DI)
	JLE  reserve
	PUSHQ R8
	PUSHQ R10
	PUSHQ DI
	PUSHQ $10000000
	PUSHQ $0 // struct timespec: 10 ms
	LOCK
	INCL const_hdWaiting(DI)
	MOVL const_hdDrained(DI), DX
	MOVQ SP, R10
	LEAQ const_hdDrained(DI), DI
	XORL SI, SI   // FUTEX_WAIT
	MOVL $202, AX // futex
	SYSCALL
	ADDQ $16, SP
	POPQ DI
	POPQ R10
	POPQ R8
	MOVQ STATE, R11
	LOCK
	DECL const_hdWaiting(DI)
	DECL R8
	JNE  waitMore
	MOVL $1, const_hdStalled(DI)

noRoom:
	XORL R12, R12
	XRET

// wake wakes the consumer.
//
//	in:  DI = header
//	clobbers AX, CX, DX, SI, R8
	MARK(const_markWake)
	XORL AX, AX
	XCHGL AX, const_hdSleep(DI)
	TESTL AX, AX
	JEQ  awake
	PUSHQ R10
	PUSHQ R9
	PUSHQ DI
	LEAQ const_hdSleep(DI), DI
	MOVL $1, SI // FUTEX_WAKE
	MOVL $1, DX
	XORL R10, R10
	MOVL $202, AX
	SYSCALL
	POPQ DI
	POPQ R9
	POPQ R10
	MOVQ STATE, R11

awake:
	XRET
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
