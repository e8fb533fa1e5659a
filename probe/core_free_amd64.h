// The core's part for calls that free or unmap. Included by core_amd64.s.

// enterFree: a call of a function that frees or unmaps. Registers as for
// enterAlloc. It is recorded before it runs, because then another thread may be
// handed the block.
enterFree:
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
	MOVQ $const_noBlock, const_slInside(R10)
	JMP  freeFreed

freeLeft:
	MOVQ $0, const_shSP(DI)
	DECL DX
	MOVL DX, const_slDepth(R10)
	TESTL DX, DX
	JNE  freeNest
	MOVQ const_shSite(DI), SI
	CMPQ const_siFilter(SI), $0
	JNE  freeLeftStops
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  freeLeftUnreported
	MOVQ const_shSize(DI), DX
	MOVQ const_shAux(DI), R9
	XORL R8, R8
	MOVQ const_siHead(SI), DI
	ORQ  $const_recAbandon, DI
	XORL SI, SI
	CALLTO(const_markRecord)

freeLeftOn:
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ STATE, R9
	MOVL const_siFlags(R11), R8
	JMP  freeNest

freeLeftUnreported:
	INCQ const_slEvents(R10)
	JMP  freeNest

freeLeftStops:
	// As in leftStops.
	ORL $const_flagLeft, (const_frIndex+4)(SP)
	MOVL $1, const_slDepth(R10)
	MARK(const_markMatchFreeLeft)
	CALLTO(const_markOffer)
	ANDL $~const_flagLeft, (const_frIndex+4)(SP)
	MOVQ const_frSlot(SP), R10
	MOVL $0, const_slDepth(R10)
	JMP  freeLeftOn

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
	JCS  freeRestart

freeIntact:
	MARK(const_markAgain)
	MOVQ (DI), DI
	MARK(const_markAgainEnd)
	CMPQ DI, const_slFreedRet(R10)
	JNE  freeFirst
	BTSQ AX, const_slFreedDone(R10)
	JCC  freeFurther
	MOVL $1, const_slRestarted(R10)

freeFurther:
	MOVQ R11, const_slFreedSite(R10)
	JMP  pass

freeRestart:
	// Does free jump to its own entry, once it has made the thread's cache?
	TESTL $const_siteRestarts, R8
	JEQ  freeFirst
	CMPL const_slRestarted(R10), $0
	JEQ  freeIntact

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
	// The cache of a thread that ends is given back: no event.
	MOVQ const_frameSize(SP), AX
	SUBQ const_siExempt(R11), AX
	CMPQ AX, const_siExemptLen(R11)
	JCS  pass

freeOwn:
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

freeMay:
	CMPL AX, $const_askedWrong
	JEQ  freeWrong
	CMPL AX, $const_askedSure
	JEQ  freeSure
	MOVQ const_frSite(SP), R11
	TESTL $const_siteVerdict, const_siFlags(R11)
	JEQ  freeStops
	MOVL $const_recNumber, DI
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
	MARK(const_markMatchFree)
	CALLTO(const_markOffer)

freeUnreported:
	MOVQ const_frSlot(SP), R10
	INCQ const_slEvents(R10)
	JMP  pass

freeWrong:
	ORL $const_flagWrong, (const_frIndex+4)(SP)
	JMP freeStops

freeSure:
	ORL $const_flagSure, (const_frIndex+4)(SP)
	JMP freeStops

freePassed:
	MOVQ STATE, R9
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  freeUnreported
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frAddr(SP), SI
	MOVQ const_frSize(SP), DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recFree, DI
	MOVL (const_frIndex+4)(SP), AX
	ORQ  AX, DI
	CALLTO(const_markRecord)
	JMP  pass
