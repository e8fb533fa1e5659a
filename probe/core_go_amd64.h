// The core's part for the runtime of Go. Included by core_amd64.s.
//
// It runs on stacks of goroutines, of which a few hundred bytes are free here, under rules of
// its own (see golang.go): it waits for nothing, as the thread holds its processor (P), and
// leaves no address of its own on the stack when it has returned. Behind a return of Go's
// internal ABI only the result, rsp, rbp, r14 (the goroutine) and X15 mean anything.

// GOMEMOAT is MEMOAT for the stack of goroutine R14, with the result as record takes it in R8
// and R10; R11 = state. The goroutine's stack may move, and others stand where it has stood:
// what counts is how far it is to its end. The go statement that made the goroutine is
// part of the stack, and so of the tag.
//
//	clobbers AX, CX, R9
#define GOMEMOAT(ret) \
	MOVQ const_stGoPC(R11), AX; \
	MOVQ (R14)(AX*1), R9; \
	RORQ $32, R9; \
	MOVQ 8(R14), AX; \
	LEAQ (ret)(SP), CX; \
	SUBQ CX, AX; \
	XORQ AX, R9; \
	MOVQ ret(SP), R8; \
	MEMOAT(R8, R9, R10); \
	ADDQ const_stMemo(R11), R10

// GOREMEMBER has the memo keep the stack, if it is one goroutine's alone, and the walk has not
// come through C. It has no words of
// rbp: xPairs then only says how many of the frames are no words of it.
#define GOREMEMBER(pairs) \
	MOVL pairs, DX; \
	XORL BX, BX; \
	CMPQ R12, wkG(SP); \
	CMOVQNE BX, DX; \
	CMPQ const_xRBX(R13), $0; \
	CMOVQNE BX, DX; \
	MOVQ DX, const_xPairs(R13)

// goReturn: runtime.mallocgc has done its work and all of its last instructions but the
// return.
//
//	in:  DX = result, AX = key, R10 = the slot where the key should be, R11 = site; R14 = the
//	     goroutine; on the stack the return address and, where the caller has room for the
//	     arguments, size and type
//	out: as from the function
	MARK(const_markGoReturn)
	LEAQ -const_frameSize(SP), SP
	MOVQ $0, const_frIndex(SP)
	MOVQ R10, const_frSlot(SP)
	MOVQ R11, const_frSite(SP)
	MOVQ DX, const_frRes(SP)
	MOVQ $0, const_frRes2(SP)
	MOVQ DX, const_frAddr(SP)
	MOVQ (const_frameSize+8)(SP), CX
	MOVQ CX, const_frSize(SP)
	MOVQ CX, const_frArgs(SP)
	MOVQ (const_frameSize+16)(SP), DX
	MOVQ DX, (const_frArgs+8)(SP)
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  goBack
	TESTQ CX, CX
	JEQ  goBack // what has no bytes is no block
	CMPQ AX, const_slKey(R10)
	JEQ  goSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  goBack
	MOVQ R10, const_frSlot(SP)
	MOVQ const_frSite(SP), R11
	MOVQ const_frSize(SP), CX

goSlot:
	// R8 = the goroutine: on the stack of the system's, the one that it works for
	MOVQ R14, R8
	MOVQ const_stGoM(R9), AX
	MOVQ (R14)(AX*1), AX
	TESTQ AX, AX
	JEQ  goNumber
	CMPQ (AX), R14
	JNE  goNumber
	MOVQ const_stGoCurG(R9), DX
	MOVQ (AX)(DX*1), AX
	TESTQ AX, AX
	CMOVQNE AX, R8

goNumber:
	MOVQ const_stGoID(R9), AX
	MOVQ (R8)(AX*1), AX
	MOVQ AX, const_frGoID(SP)
	TESTL $(const_modeNumber|const_modeLive), const_stMode(R9)
	JEQ  goJudge
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdCount(DI)
	LOCK
	ADDQ CX, const_hdLive(DI)
	LOCK
	INCQ const_hdBlocks(DI)

goJudge:
	MOVQ const_siFilter(R11), DI
	TESTQ DI, DI
	JEQ  goPassed
	TESTL $const_siteTypes, const_siFlags(R11)
	JEQ  goAsk
	// What the condition says of the type. hdb fills in an entry's key last.
	MOVQ const_stGoTypes(R9), R8
	MOVQ (const_frArgs+8)(SP), AX
	INCQ AX
	MOVQ $const_goTypeHash, DX
	IMULQ AX, DX
	SHRQ $(64-const_goTypeBits), DX
	MOVL $const_goTypeTries, SI

goType:
	MOVQ DX, CX
	SHLQ $const_goTypeShift, CX
	CMPQ AX, const_gtKey(R8)(CX*1)
	JEQ  goTypeKnown
	CMPQ const_gtKey(R8)(CX*1), $0
	JEQ  goTypeNew
	INCQ DX
	ANDQ $((1<<const_goTypeBits)-1), DX
	DECL SI
	JNE  goType

goTypeNew:
	MOVQ $(const_goTypeMay*0x0101010101010101), CX
	JMP  goTypeFound

goTypeKnown:
	ADDQ CX, R8
	MOVQ const_gtMany(R8), CX
	MOVQ const_frSize(SP), AX
	CMPQ AX, const_gtSize(R8)
	CMOVQEQ const_gtOne(R8), CX

goTypeFound:
	MOVQ CX, const_frGoTypes(SP)

goAsk:
	CALL DI
	TESTL AX, AX
	JNE  goMay

goPassed:
	MOVQ STATE, R11
	TESTL $const_modeRecord, const_stMode(R11)
	JEQ  goUnreported
	CMPL const_stEnabled(R11), $const_quickEnabled
	JNE  goLong
	CMPQ R8, R14
	JNE  goLong
	GOMEMOAT(const_frameSize)
	MOVQ const_frAddr(SP), SI
	CALLTO(const_markRecordQuick)
	JMP  goBack

goLong:
	MOVQ const_frSite(SP), R11
	MOVQ const_siHead(R11), DI
	ORQ  $const_recAlloc, DI
	MOVQ const_frAddr(SP), SI
	MOVQ const_frSize(SP), DX
	MOVQ (const_frArgs+8)(SP), R8
	MOVQ const_frGoID(SP), R9
	CALLTO(const_markRecord)
	JMP  goBack

goMay:
	// As allocMay.
	CMPL AX, $const_askedSure
	JEQ  goSure
	MOVQ const_frSite(SP), R11
	TESTL $const_siteVerdict, const_siFlags(R11)
	JEQ  goStops
	MOVL $const_recNumber, DI
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ STATE, R9
	MOVL const_slStack(R10), AX
	CMPL AX, $(1<<const_stackBits)
	JCC  goStops
	MOVQ const_stVerdicts(R9), DI
	CMPB (DI)(AX*1), $const_verdictNo
	JNE  goStops
	TESTL $const_modeRecord, const_stMode(R9)
	JNE  goLong
	JMP  goUnreported

goSure:
	ORL $const_flagSure, (const_frIndex+4)(SP)

goStops:
	CALLTO(const_markOffer)

goUnreported:
	MOVQ const_frSlot(SP), R10
	INCQ const_slEvents(R10)

goBack:
	// No address of ours may stay on the stack, be it below its end: that it is there would
	// look as if the thread could come back.
	MOVQ const_frRes(SP), AX
	MOVQ $0, const_frSite(SP)
	MOVQ $0, -8(SP)
	ADDQ $const_frameSize, SP
	XRET

// goMemo is record's memo for stacks of goroutines. Those of the system's goroutines go on in
// others: they are not remembered.
goMemo:
	MOVL $const_memoTries, DI
	MOVQ const_stGoM(R11), AX
	MOVQ (R14)(AX*1), AX
	TESTQ AX, AX
	JEQ  walkFirst
	CMPQ (AX), R14
	JEQ  walkFirst
	GOMEMOAT(rcRet)
	JMP  memoPlace

// goAnew is record's walk for stacks of goroutines, by frame pointers: Go keeps them in all
// functions that have a frame. From the stack of the system's goroutine it goes on in the
// one that called it. Behind the outermost frame comes the go statement that made the
// goroutine.
//
// A stack goes into the memo if it is a goroutine's alone, to its end or the limit. All of
// its frames are as long as the compiler made them, so that the same return addresses at the
// same places are the same stack.
goAnew:
	// R8 = return address, R9 = the word below it, R10 = rbp, CX = frames so far, AX = their
	// hash, R13 = scratch, R12 = the goroutine whose stack it is, DI = that one's end
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdWalks(DX)
	MOVQ wkSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	MOVQ $0, const_xPairs(R13)
	MOVQ $0, const_xRBX(R13) // until the walk comes to C
	MOVQ wkRet(SP), R8
	LEAQ (wkRet-8)(SP), R9
	MOVQ wkBP(SP), R10
	MOVQ wkG(SP), R12
	MOVQ 8(R12), DI
	SUBQ $16, DI
	MOVQ const_stGoExit(R11), SI
	XORL CX, CX
	MOVQ $0x243f6a8885a308d3, AX
	MOVQ $0x9e3779b97f4a7c15, R14

goFrame:
	MOVQ R8, const_xPCs(R13)(CX*8)
	XORQ R8, AX
	IMULQ R14, AX
	RORQ $29, AX
	INCL CX
	CMPL CX, const_stDepth(R11)
	JCC  goDepth
	CMPQ R8, SI
	JEQ  goCreator

goUp:
	// Each frame is above the one that it has called. Where it is not, rbp is not that of the
	// frame: before Go 1.21 it is another one's when a function goes on that has recovered. The
	// rules of the CFI know the way.
	MARK(const_markGoFrame)
	CMPQ R10, R9
	JLS  goElsewhere
	CMPQ R10, DI
	JHI  goElsewhere
	TESTQ $7, R10
	JNE  goLost
	LEAQ 16(R10), DX
	MOVQ DX, (const_xCFAs-8)(R13)(CX*8)
	MOVQ 8(R10), R8
	MOVQ R10, R9
	MOVQ (R10), R10
	TESTQ R8, R8
	JNE  goFrame
	JMP  goWhole

goElsewhere:
	TESTQ R10, R10
	JEQ  goWhole // a thread's first function
	MOVQ const_stGoM(R11), DX
	MOVQ (R12)(DX*1), DX
	TESTQ DX, DX
	JEQ  goByRule
	CMPQ (DX), R12
	JNE  goByRule
	MOVQ const_stGoCurG(R11), BX
	MOVQ (DX)(BX*1), BX
	TESTQ BX, BX
	JEQ  goByRule
	CMPQ R10, (BX)
	JCS  goByRule
	MOVQ 8(BX), DX
	SUBQ $16, DX
	CMPQ R10, DX
	JHI  goByRule
	MOVQ DX, DI
	MOVQ BX, R12
	MOVQ (R12), R9
	JMP  goUp

goByRule:
	MARK(const_markGoFrameEnd)
	// C has called Go, most likely: from here on the rules of the CFI are followed.
	MOVQ const_stCache(R11), SI
	MOVQ const_stRules(R11), DI
	LEAQ const_stZero(R11), DX
	MOVQ DX, const_xRBX(R13)
	ADDQ $16, R9 // above the return address
	MOVQ AX, BP
	JMP  walkRule

goCreator:
	GOREMEMBER($const_pairsEnd)
	MARK(const_markGoCreator)
	MOVQ const_stGoID(R11), DX
	CMPQ (R12)(DX*1), $1
	JEQ  goWhole // the first was made by nobody
	MOVQ const_stGoPC(R11), DX
	MOVQ (R12)(DX*1), R8
	MARK(const_markGoCreatorEnd)
	TESTQ R8, R8
	JEQ  goWhole
	GOREMEMBER($(const_pairsEnd+1)) // it is no word of the stack's
	MOVQ R8, const_xPCs(R13)(CX*8)
	XORQ R8, AX
	IMULQ R14, AX
	RORQ $29, AX
	INCL CX

goWhole:
	XORL DX, DX
	JMP  hashed

goDepth:
	GOREMEMBER($const_pairsEnd)
	MOVL $const_endDepth, DX
	JMP  goCut

goLost:
	MARK(const_markGoLost)
	MOVL $const_endNoCFI, DX

goCut:
	XORQ DX, AX
	IMULQ R14, AX
	JMP  hashed

// goSweep: a call of runtime.(*sweepLocked).sweep, behind its check for stack space. What the
// span has now is what it had when it was swept last, and since.
//
//	in:  AX = key, R10 = the slot where the key should be, R11 = site; on the stack gwSize
//	     bytes with the function's AX, and where it goes on; BX as the function has it
//	out: goes on there, with AX and BX as they were: at the entry of a function with two
//	     arguments no other register means anything
#define gwSite 8
#define gwWords 16
#define gwMarks 24
#define gwSpan 32
#define gwBits 40
#define gwFree 48

	MARK(const_markGoSweep)
	MOVQ R11, gwSite(SP)
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  goOn
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  goOn
	CMPQ AX, const_slKey(R10)
	JEQ  goSweepSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  goOn

goSweepSlot:
	MOVQ $0, const_slSpan(R10)
	MOVQ const_gwAX(SP), DI
	MOVQ (DI), DI // sweepLocked is a struct of a pointer to the span
	MOVQ const_stGoArena(R9), AX
	TESTQ AX, AX
	JEQ  goSweepBegin
	CMPB (DI)(AX*1), $0
	JNE  goOn

goSweepBegin:
	MOVQ const_stGoFree(R9), AX
	MOVQ (DI)(AX*1), AX
	ANDQ const_stGoNumMask(R9), AX
	MOVQ AX, const_slSpanFree(R10)
	MOVQ const_stGoBits(R9), AX
	MOVQ (DI)(AX*1), AX
	MOVQ AX, const_slSpanBits(R10)
	TESTQ AX, AX
	JEQ  goOn
	MOVQ DI, const_slSpan(R10)

goOn:
	MOVQ $0, gwSite(SP) // as in goBack
	MOVQ $0, -8(SP)
	MOVQ $0, -16(SP)
	MOVQ const_gwAX(SP), AX
	LEAQ const_gwTo(SP), SP
	XRET

// goMark: a call of runtime.newMarkBits, behind its check. From sweep it comes when the span's
// new allocBits say what is in use from now on. What was and is not any more was freed: slots
// that were in use, or may have been handed out since.
//
// Registers and stack as for goSweep.
	MARK(const_markGoMark)
	MOVQ R11, gwSite(SP)
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  goOn
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  goOn
	MOVQ const_gwSize(SP), DX // its return address
	SUBQ const_siExempt(R11), DX
	CMPQ DX, const_siExemptLen(R11)
	JCC  goOn
	CMPQ AX, const_slKey(R10)
	JEQ  goMarkSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  goOn

goMarkSlot:
	// DI = the span, R8 = which slots were in use, at gwMarks which are, SI = slots below which
	// all may have been, R11 = slots, CX = the first of the 64 that are looked at
	// The slot is read once: hdb may empty it while the thread is stopped here.
	MOVQ const_slSpan(R10), DI
	MOVQ const_slSpanFree(R10), SI
	MOVQ const_slSpanBits(R10), R8
	MOVQ DI, gwSpan(SP)
	MOVQ SI, gwFree(SP)
	MOVQ R8, gwBits(SP)
	TESTQ DI, DI
	JEQ  goOn
	TESTQ R8, R8
	JEQ  goOn
	MOVQ const_stGoBits(R9), AX
	MOVQ (DI)(AX*1), AX
	MOVQ AX, gwMarks(SP)
	TESTQ AX, AX
	JEQ  goSwept
	MOVQ const_stGoElems(R9), AX
	MOVQ (DI)(AX*1), R11
	ANDQ const_stGoNumMask(R9), R11
	CMPQ R11, $(64*const_maxSweep)
	JHI  goSwept
	XORL CX, CX

goAny:
	CALLTO(const_markGoFreed)
	TESTQ AX, AX
	JNE  goSome
	ADDQ $64, CX
	CMPQ CX, R11
	JCS  goAny

goSwept:
	MOVQ $0, const_slSpan(R10)
	JMP  goOn

goSome:
	ADDQ $63, R11
	SHRQ $6, R11
	MOVQ R11, gwWords(SP)
	LEAQ (const_sweepHead+15)(R11*8), R8
	ANDQ $~15, R8
	MOVQ STATE, R9
	// As reserveNow, but the next allocation wakes the consumer, if need be.
	MOVQ const_stHeader(R9), DI

goReserve:
	MOVQ const_hdHead(DI), AX
	LEAQ (AX)(R8*1), DX
	MOVQ DX, CX
	SUBQ const_stRoom(R9), CX
	CMPQ CX, const_hdTail(DI)
	JGT  goNoRoom
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  goReserve
	ANDQ const_stMask(R9), AX
	MOVQ const_stRing(R9), DI
	ADDQ AX, DI // the record's place
	MOVQ gwSpan(SP), DX
	MOVQ const_stGoStart(R9), AX
	MOVQ (DX)(AX*1), AX
	MOVQ AX, 16(DI)
	MOVQ const_stGoSize(R9), AX
	MOVQ (DX)(AX*1), AX
	MOVQ AX, 24(DI)
	MOVQ const_stGoElems(R9), AX
	MOVQ (DX)(AX*1), R11
	ANDQ const_stGoNumMask(R9), R11
	MOVQ R11, 32(DI)
	MOVQ const_stGoClass(R9), AX
	MOVBLZX (DX)(AX*1), AX
	MOVQ AX, 40(DI)
	MOVQ gwBits(SP), R8
	MOVQ gwFree(SP), SI
	XORL CX, CX

goWord:
	CALLTO(const_markGoFreed)
	MOVQ CX, DX
	SHRQ $3, DX
	MOVQ AX, const_sweepHead(DI)(DX*1)
	ADDQ $64, CX
	CMPQ CX, R11
	JCS  goWord
	MOVQ STATE, R9
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, 8(DI)
	MOVQ gwWords(SP), AX
	SHLQ $const_sweepShift, AX
	MOVL const_slTID(R10), DX
	SHLQ $const_tidShift, DX
	ORQ  DX, AX
	MOVQ gwSite(SP), R11
	ORQ  const_siHead(R11), AX
	ORQ  $const_recSweep, AX
	MOVQ AX, 0(DI) // complete
	JMP  goSwept

goNoRoom:
	LOCK
	INCQ const_hdLost(DI)
	JMP  goSwept

// freed tells which of the 64 slots from CX on were freed.
//
//	in:  CX, R8, gwMarks, SI, R11 as in goMarkSlot
//	out: AX = a bit for each
//	clobbers DX, R9
	MARK(const_markGoFreed)
	MOVQ SI, AX
	CALLTO(const_markGoBelow)
	MOVQ CX, DX
	SHRQ $3, DX
	ORQ  (R8)(DX*1), AX
	MOVQ (gwMarks+8)(SP), R9
	MOVQ (R9)(DX*1), DX
	NOTQ DX
	ANDQ AX, DX
	MOVQ R11, AX
	CALLTO(const_markGoBelow)
	ANDQ DX, AX
	XRET

// below makes the bits of AX those of the 64 slots from CX on that are below slot AX.
	MARK(const_markGoBelow)
	SUBQ CX, AX
	JLS  goNone
	CMPQ AX, $64
	JCC  goAll
	PUSHQ CX
	MOVQ AX, CX
	MOVL $1, AX
	SHLQ CX, AX
	DECQ AX
	POPQ CX
	XRET

goNone:
	XORL AX, AX
	XRET

goAll:
	MOVQ $-1, AX
	XRET
