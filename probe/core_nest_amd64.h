// How the core tells the user's calls from an allocator's own, and finds the
// thread's slot. Included by core_amd64.s.

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

// find looks for the slot of a thread, and takes one for it if it has none. The
// search goes on behind slots that threads have left: the thread's own may be
// further on, from a time when they were taken.
//
//	in:  AX = key, R9 = state
//	out: R10 = slot, 0 if there is none to be had
//	clobbers AX, CX, DX, DI, SI, R8, R11
	MARK(const_markFind)
	MOVQ AX, R8
	TESTQ AX, AX
	JEQ  findNone

findAnew:
	IMULL $const_slotHash, AX
	SHRL $(32-const_slotBits), AX
	MOVL $const_numSlots, DX
	MOVQ const_stSlots(R9), SI
	XORL DI, DI // the first slot that was left

findNext:
	MOVQ AX, R10
	SHLQ $const_slotShift, R10
	ADDQ SI, R10
	MOVQ const_slKey(R10), CX
	CMPQ CX, R8
	JEQ  findDone
	TESTQ CX, CX
	JEQ  findFree
	CMPQ CX, $const_slotLeft
	JNE  findOn
	TESTQ DI, DI
	CMOVQEQ R10, DI

findOn:
	INCL AX
	ANDL $(const_numSlots-1), AX
	DECL DX
	JNE  findNext
	TESTQ DI, DI
	JNE  findLeft

findNone:
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdNoSlot(DI)
	XORL R10, R10
	XRET

findFree:
	XORL AX, AX
	TESTQ DI, DI
	JEQ  findTake

findLeft:
	MOVQ DI, R10
	MOVL $const_slotLeft, AX

findTake:
	LOCK
	CMPXCHGQ R8, const_slKey(R10)
	JEQ  findNew
	MOVQ R8, AX
	JMP  findAnew // another thread was faster, or a signal handler of this one

findNew:
	// The rest of a free slot is zero.
	GETTID(findAsk, const_markAsk, findNamed)
	MOVL AX, const_slTID(R10)

findDone:
	XRET
