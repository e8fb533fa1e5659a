// The core's short way, for calls of the C and C++ functions while events are recorded,
// and what a stop may want of them is told when they return, or free. Included by
// core_amd64.s.

// SUM takes a word of a stack, by its distance in the memo's entry and with its factor,
// which the injector puts there, off the entry's sum. SUMs are of one length each.
#define SUM(n) \
	MOVWLZX (2*(n)-const_sumBias)(R9), DX; \
	IMUL3Q $(0x5afb0000+(n)), rcBP(SP)(DX*8), DX; \
	SUBQ DX, AX
#define SUM4(n) SUM(n+3); SUM(n+2); SUM(n+1); SUM(n)
#define SUM24(n) SUM4(n+20); SUM4(n+16); SUM4(n+12); SUM4(n+8); SUM4(n+4); SUM4(n)

// LONGWORD is one of the two more words of a long record, in DX: the word of the
// core's frame whose number the site has. On the short way word 0 is 0.
#define LONGWORD(site, number) \
	MOVBLZX number(site), DX; \
	MOVQ rcFrame(SP)(DX*8), DX

// QUICKWORDS are what record finds in its frame, beside the first. They leave the site in
// R9, and clobber DX.
#define QUICKWORDS \
	MOVQ SI, rcW2(SP); \
	MOVQ rcSize(SP), DX; \
	MOVQ DX, rcW3(SP); \
	MOVQ rcSite(SP), R9; \
	LONGWORD(R9, const_siOldWord); \
	MOVQ DX, rcW4(SP); \
	LONGWORD(R9, const_siAuxWord); \
	MOVQ DX, rcW5(SP)

// QUICKENTRY makes the only entry of the shadow stack, for a call that asks for size
// bytes. The frame is on the stack.
#define QUICKENTRY(size) \
	MOVL $1, const_slDepth(R10); /* from here on the entry exists, with shSP 0 */ \
	MOVQ $0, const_slFreed(R10); \
	MOVQ $const_noBlock, const_slInside(R10); \
	MOVQ const_frameSize(SP), AX; \
	MOVQ AX, (const_slShadow+const_shRet)(R10); \
	MOVQ R11, (const_slShadow+const_shSite)(R10); \
	MOVQ R11, (const_slShadow+const_shLast)(R10); \
	MOVQ size, (const_slShadow+const_shSize)(R10); \
	MOVQ $0, (const_slShadow+const_shServed)(R10); \
	LEAQ const_frameSize(SP), AX; \
	MOVQ AX, (const_slShadow+const_shSP)(R10)

// QUICKCHECK leaves calls that are not for the short way to enter, by key once AX is not
// the key any more, and those of a thread that is in another call to busy.
#define QUICKCHECK(enter, key, busy) \
	CMPQ AX, const_slKey(R10); \
	JNE  enter; \
	MOVQ STATE, AX; \
	CMPL const_stEnabled(AX), $const_quickEnabled; \
	JNE  key; \
	CMPL const_slDepth(R10), $0; \
	JNE  busy

// quickLong: a call of a function that allocates or resizes and has more arguments
// than a size: calloc, realloc, aligned_alloc and the like. It goes on as quickAlloc.
	MARK(const_markQuickLong)
	QUICKCHECK(enterAlloc, allocKey, allocKey)
	PUSHFRAME
	MOVBLZX const_siSize(R11), CX
	MOVQ const_frArgs(SP)(CX*8), CX
	MOVBLZX const_siCount(R11), AX
	CMPL AX, $const_operandNone
	JEQ  quickSized
	MOVQ const_frArgs(SP)(AX*8), AX
	MULQ CX
	MOVQ AX, CX
	JOC  quickSized
	MOVQ $-1, CX // the call fails

quickSized:
	MOVQ CX, const_frSize(SP)
	MOVQ const_siGuard(R11), AX
	TESTQ AX, AX
	JNE  quickGuard

quickGuarded:
	QUICKENTRY(CX)
	MOVBLZX const_siAuxWord(R11), AX
	MOVQ (SP)(AX*8), AX
	MOVQ AX, (const_slShadow+const_shAux)(R10)
	MOVBLZX const_siOldWord(R11), AX
	MOVQ (SP)(AX*8), SI
	TESTQ SI, SI
	JEQ  quickArgs
	CALLTO(const_markQuickBegin)

quickArgs:
	LOADARGS
	JMP  quickRun

quickGuard:
	// Is the old block one that it may give back? What it is not, goes the long way.
	CALL AX
	TESTL AX, AX
	JNE  guardOffer
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frSize(SP), CX
	JMP  quickGuarded

// quickAlloc: a call of a function that allocates, whose only argument of interest
// is its first, the size. Registers as for enterAlloc, which does it all if the
// thread is in another call, or if anything else is out of the ordinary.
	MARK(const_markQuickAlloc)
	QUICKCHECK(enterAlloc, allocKey, quickNested)
	LEAQ -const_frameSize(SP), SP
	QUICKENTRY(DI)
	MOVQ $0, const_frIndex(SP)
	MOVQ R10, const_frSlot(SP)
	MOVQ R11, const_frSite(SP)
	MOVQ DI, const_frSize(SP)
	MOVQ DI, const_frArgs(SP) // for a filter that comes while the function runs

quickRun:
	MOVQ STATE, R10
	TESTL $(const_modeNumber|const_modeLive), const_stMode(R10)
	JNE  quickBounds

quickBounded:
	// What the memo has comes from memory while the function runs.
	MOVQ const_frSite(SP), R11
	TESTL $const_flagBare, const_siQuick(R11)
	JNE  quickCall
	MOVQ const_frameSize(SP), AX
	LEAQ (const_frameSize+8)(SP), R10
	MEMOAT(AX, R10, R11)
	MOVQ STATE, R10
	ADDQ const_stMemo(R10), R11
	MOVQ AX, const_frRes(SP)
	MOVQ R11, const_frRes2(SP)
	PREFETCHT0 (R11)
	PREFETCHT0 64(R11)
	MOVQ const_frSite(SP), R11

quickCall:
	MOVQ const_siReloc(R11), R11
	CALL R11
	MARK(const_markReturnQuick)
	// AX, DX = the results; what is out of the ordinary by now is for the code
	// behind enterAlloc's call.
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $const_quickEnabled
	JNE  returned
	MOVQ const_frSlot(SP), R10
	CMPL const_slDepth(R10), $1
	JNE  returned
	CMPQ AX, const_slInside(R10)
	JEQ  returned
	MOVL $0, const_slDepth(R10)
	MOVQ $0, (const_slShadow+const_shSP)(R10)
	MOVQ const_frSite(SP), R11
	MOVQ const_frRes(SP), R8
	MOVQ const_frRes2(SP), R9
	MOVQ AX, const_frRes(SP)
	MOVQ DX, const_frRes2(SP)
	MOVQ AX, SI
	MOVQ const_siFilter(R11), DI
	TESTQ DI, DI
	JNE  quickAsk

quickUnasked:
	MOVQ R9, R10
	CALLTO(const_markRecordQuick)
	MOVQ const_frRes(SP), AX
	MOVQ const_frRes2(SP), DX
	ADDQ $const_frameSize, SP
	XRET

quickAsk:
	// As in judged. The condition's code changes none of R8, R9 and SI.
	MOVQ SI, const_frAddr(SP)
	CALL DI
	TESTL AX, AX
	JEQ  quickUnasked
	JMP  allocMay

quickBounds:
	// As in bounds. All registers but AX, R10 and R11 are arguments.
	MOVQ const_stHeader(R10), R10
	MOVQ const_frSize(SP), AX
	LOCK
	INCQ const_hdCount(R10)
	LOCK
	ADDQ AX, const_hdLive(R10)
	LOCK
	INCQ const_hdBlocks(R10)
	JMP  quickBounded

quickNested:
	// Does it the work of the only call that the thread is in, as malloc does operator
	// new's? As in nest, where it is judged if that is not plain.
	CMPL const_slDepth(R10), $1
	JNE  allocKey
	MOVQ (const_slShadow+const_shSP)(R10), AX
	SUBQ SP, AX
	DECQ AX
	CMPQ AX, $0x7fffff
	JCC  allocKey
	MOVQ (const_slShadow+const_shSP)(R10), AX
	MARK(const_markNested)
	MOVQ (AX), AX
	MARK(const_markNestedEnd)
	CMPQ AX, (const_slShadow+const_shRet)(R10)
	JNE  allocKey
	CMPQ DI, (const_slShadow+const_shSize)(R10)
	JCS  allocKey
	MOVQ const_siDone(R11), AX
	TESTQ AX, (const_slShadow+const_shServed)(R10)
	JNE  allocKey
	MOVQ R11, -8(SP) // in the red zone
	MOVQ (const_slShadow+const_shLast)(R10), R11
	MOVQ (SP), AX
	SUBQ const_siModLow(R11), AX
	CMPQ AX, const_siModLen(R11)
	JCC  nestedElse
	MOVQ (SP), AX
	SUBQ const_siExempt(R11), AX
	CMPQ AX, const_siExemptLen(R11)
	JCS  nestedElse
	MOVQ -8(SP), R11
	MOVQ const_siDone(R11), AX
	ORQ  AX, (const_slShadow+const_shServed)(R10)
	MOVQ R11, (const_slShadow+const_shLast)(R10)
	JMP  quickPass

nestedElse:
	MOVQ -8(SP), R11

allocKey:
	MARK(const_markAllocKey)
	MOVQ const_slKey(R10), AX
	JMP  enterAlloc

// quickFree: a call of a function that frees its first argument. quickFreeSized: of
// one whose second is the block's size. Registers as for enterFree, which does the
// rest. The size goes to where the frame will be, in the red zone.
	MARK(const_markQuickFreeSized)
	MOVQ SI, (const_frSize-const_frameSize)(SP)
	JMP  quickFrees

	MARK(const_markQuickFree)
	MOVQ $0, (const_frSize-const_frameSize)(SP)

quickFrees:
	TESTQ DI, DI
	JEQ  quickPass
	QUICKCHECK(enterFree, freeKey, freeKey)
	CMPQ DI, const_slFreed(R10)
	JEQ  quickAgain
	PUSHFRAME
	MOVQ AX, CX
	MOVQ $0, const_slFreed(R10)
	LEAQ const_frameSize(SP), AX
	MOVQ AX, const_slFreedSP(R10)
	MOVQ const_frameSize(SP), AX
	MOVQ AX, const_slFreedRet(R10)
	MOVQ const_siDone(R11), AX
	MOVQ AX, const_slFreedDone(R10)
	MOVQ R11, const_slFreedSite(R10)
	MOVQ DI, const_slFreed(R10)
	MOVQ const_frameSize(SP), R8
	MOVQ R8, AX // is it the cache of a thread that ends? As behind freeFirst
	SUBQ const_siExempt(R11), AX
	CMPQ AX, const_siExemptLen(R11)
	JCS  pass
	TESTL $const_modeNumber, const_stMode(CX)
	JNE  quickNumber

quickNumbered:
	MOVQ const_siFilter(R11), AX
	TESTQ AX, AX
	JNE  quickFreeAsk

quickFreeUnasked:
	LEAQ (const_frameSize+8)(SP), R9
	MEMOAT(R8, R9, R10)
	ADDQ const_stMemo(CX), R10
	MOVQ DI, SI
	CALLTO(const_markRecordQuick)
	JMP  pass

quickFreeAsk:
	// As in freeFilter. The condition's code changes neither CX nor R8.
	MOVQ DI, const_frAddr(SP)
	CALL AX
	TESTL AX, AX
	JNE  freeMay
	MOVQ const_frAddr(SP), DI
	JMP  quickFreeUnasked

quickNumber:
	MOVQ const_stHeader(CX), AX
	LOCK
	INCQ const_hdCount(AX)
	JMP  quickNumbered

quickAgain:
	// Further work on the block, as free does delete's? As in freeAgain.
	CMPQ SP, const_slFreedSP(R10)
	JHI  freeKey
	MOVQ const_siDone(R11), AX
	TESTQ AX, const_slFreedDone(R10)
	JNE  freeKey
	MOVQ const_slFreedSP(R10), AX
	MARK(const_markQuickAgain)
	MOVQ (AX), AX
	MARK(const_markQuickAgainEnd)
	CMPQ AX, const_slFreedRet(R10)
	JNE  freeKey
	MOVQ const_siDone(R11), AX
	ORQ  AX, const_slFreedDone(R10)
	MOVQ R11, const_slFreedSite(R10)

quickPass:
	// The call is none of ours, as that of free(NULL) is not.
	MOVQ const_siReloc(R11), R11
	JMP  R11

freeKey:
	MARK(const_markFreeKey)
	MOVQ const_slKey(R10), AX
	JMP  enterFree

// quickBegin records that a realloc begins, as enterAlloc does: without a stack.
//
//	in:  SI = old block; called from the frame, with frSize
//	out: nothing
//	clobbers all but BX, BP, R12-R15
	MARK(const_markQuickBegin)
	PUSHQ BP
	LEAQ -rcBP(SP), SP
	MOVQ STATE, R11
	MOVQ rcSlot(SP), DI
	MOVL const_slTID(DI), DI
	TESTL DI, DI
	JEQ  quickNameless
	SHLQ $const_tidShift, DI
	MOVQ rcSite(SP), DX
	ORQ  const_siBegin(DX), DI // the first word
	XORL CX, CX
	JMP  quickStamp

quickNameless:
	QUICKWORDS
	MOVQ const_siBegin(R9), DI
	JMP  quickRest

// recordQuick is record for the short way: of words that are summed up in a piece of
// code for each, and of a stack that is known. What is not so is for record.
//
//	in:  SI = address, R8 and R10 of MEMOAT; called from the frame, with frSize
//	out: nothing
//	clobbers all but BX, BP, R12-R15
	MARK(const_markRecordQuick)
	PUSHQ BP
	LEAQ -rcBP(SP), SP
	MOVQ STATE, R11
	MOVQ rcSlot(SP), DI
	MOVL const_slTID(DI), DI
	MOVL $const_memoTries, R9
	TESTL DI, DI
	JEQ  quickOdd
	MOVQ rcSite(SP), DX
	TESTL $const_flagBare, const_siQuick(DX)
	JNE  quickBare

quickPlace:
	CMPQ const_meTag(R10), R8
	JNE  quickWays

quickWay:
	MARK(const_markQuickMemo)
	MOVWLZX const_meFork(R10), DX
	MOVQ rcBP(SP)(DX*8), DX
	CMPW DX, (const_meFork+const_forkCheck)(R10)
	JNE  quickFork
	MOVL const_meCount(R10), CX
	MOVQ const_meSum(R10), AX
	LEAQ (const_meOffset+const_sumBias)(R10), R9
	CMPL CX, $const_memoWords
	JEQ  quickSums // so that the assembler keeps the code
	JHI  quickOdd
	IMUL3Q $-const_sumSize, CX, CX
	ADDQ const_stSums(R11), CX
	JMP  CX

quickSums:
	SUM24(72)
	SUM24(48)
	SUM24(24)
	SUM24(0)
	MARK(const_markQuickMemoEnd)
	JNE  quickOther
	MOVL const_meStack(R10), CX
	CMPQ const_meTag(R10), R8
	JNE  quickOdd // it has been written meanwhile: for other words, as those are in the tag
	CMPL const_stPython(R11), $0
	JNE  quickPython

quickWord:
	MOVQ rcSite(SP), R10
	SHLQ $const_tidShift, DI
	SHLQ $const_stackShift, CX
	ORQ  CX, DI
	ORQ  const_siQuick(R10), DI // the first word
	MOVBLZX const_siLonger(R10), CX

quickStamp:
	// CX = the record's length beyond recordSize
	RDTSC // before there is a place, see emitSized
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, R9
	MOVQ const_stHeader(R11), R10
	MOVQ const_hdHead(R10), AX
	// As from emitTake on.
	LEAQ const_recordSize(AX)(CX*1), DX
	CMPQ DX, const_hdWakeAt(R10)
	JCC  quickNear

quickRoom:
	// Others may have been faster since that look: the place is another then, and there is
	// room, as all leave some, see ringSpare.
	LEAQ const_recordSize(CX), AX
	MARK(const_markTakeQuick)
	LOCK
	XADDQ AX, const_hdHead(R10)
	ANDQ const_stMask(R11), AX
	MOVQ const_stRing(R11), R8
	ADDQ AX, R8
	PREFETCHW_AHEAD
	MOVQ rcSize(SP), AX
	MOVQ R9, 8(R8)
	MOVQ SI, 16(R8)
	MOVQ AX, 24(R8)
	TESTL CX, CX
	JNE  quickLonger

quickHead:
	MOVQ DI, 0(R8) // complete
	LEAQ rcBP(SP), SP
	POPQ BP
	XRET

quickLonger:
	MOVQ rcSite(SP), R10
	LONGWORD(R10, const_siOldWord)
	MOVQ DX, 32(R8)
	LONGWORD(R10, const_siAuxWord)
	MOVQ DX, 40(R8)
	JMP  quickHead

quickNear:
	// The consumer may have to be woken, or have died, or there may be no room. One that
	// lies down between this look and the place is woken by the next record.
	MOVQ DX, R8
	SUBQ const_stRoom(R11), R8
	CMPQ R8, const_hdTail(R10)
	JGT  quickEmit
	CMPL const_hdSleep(R10), $0
	JNE  quickEmit
	TESTL $const_ownerDied, const_hdAlive(R10)
	JEQ  quickRoom

quickEmit:
	MOVQ DI, rcW0(SP)
	MOVQ DI, CX // not from the slot: a signal handler may have been in a call since
	SHRQ $const_stackShift, CX
	QUICKWORDS
	MOVQ const_stHeader(R11), DX
	TESTL $const_ownerDied, const_hdAlive(DX)
	JEQ  emitNumbered
	JMP  recOrphan

quickBare:
	SHLQ $const_tidShift, DI
	ORQ  const_siQuick(DX), DI // the first word
	MOVBLZX const_siLonger(DX), CX
	JMP  quickStamp

quickWays:
	// As in memoNext, which may begin with any of them: the other three ways.
	XORQ $const_memoEntry, R10
	CMPQ const_meTag(R10), R8
	JEQ  quickWay
	XORQ $(3*const_memoEntry), R10
	CMPQ const_meTag(R10), R8
	JEQ  quickWay
	XORQ $const_memoEntry, R10
	CMPQ const_meTag(R10), R8
	JEQ  quickWay
	JMP  quickOdd

quickFork:
	// The stack is none of this entry's, and has a place by that word, as in memoForked.
	MOVWLZX (const_meFork+const_forkWord)(R10), CX
	CMPL CX, $const_memoChecks
	JCC  quickOdd
	IMULQ const_stFactors(R11)(CX*8), DX
	ADDQ DX, R8
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ DX, R8
	ORQ  $1, R8
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	DECL R9
	JNE  quickPlace

quickOdd:
	MARK(const_markQuickOdd)
	QUICKWORDS
	MOVQ const_siQuick(R9), DI

quickRest:
	MOVQ DI, rcW0(SP)
	JMP  recBegin

quickPython:
	MOVQ SI, rcW2(SP)
	MOVQ DI, rcW3(SP)
	MOVL $1, DI
	JMP  pythonStack

quickMerged:
	MOVQ rcW2(SP), SI
	MOVQ rcW3(SP), DI
	JMP  quickWord

quickOther:
	QUICKWORDS
	MOVQ const_siQuick(R9), DI
	MOVQ DI, rcW0(SP)
	XORL R9, R9
	MOVL $const_memoTries, DI
	JMP  memoOther
