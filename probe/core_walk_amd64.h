// The core's record: the memo and the walk of the stack. Included by
// core_amd64.s, before core_ring_amd64.h, where it goes on.

// Every part sees one frame, whoever calls it: parts that a walk calls are called
// from this.
#define PUSHWALK \
	PUSHQ BX; PUSHQ R12; PUSHQ R13; PUSHQ R14; PUSHQ R15; PUSHQ R8; PUSHQ R15

#define POPWALK \
	LEAQ 16(SP), SP; POPQ R15; POPQ R14; POPQ R13; POPQ R12; POPQ BX

// record writes a record of a call, with the number of its stack, to the ring.
// With the type recNumber it only leaves that number in the slot.
//
//	in:  DI = first word without TID and stack, SI = address, DX = size,
//	     R8 = old block, R9 = count or alignment (if flagLong); BX and BP as the
//	     caller of the function has them; called from the frame
//	out: nothing
//	clobbers all but BX, BP, R12-R15
	MARK(const_markRecord)
	PUSHQ BP
	PUSHQ DI
	PUSHQ SI
	PUSHQ DX
	PUSHQ R8
	PUSHQ R9
	MOVQ STATE, R11
	MOVQ rcRet(SP), R8
	LEAQ (rcRet+8)(SP), R9
	MEMOAT(R8, R9, R10)
	ADDQ const_stMemo(R11), R10

recBegin:
	MOVQ const_stHeader(R11), DX
	TESTL $const_ownerDied, const_hdAlive(DX)
	JNE  recOrphan
	MOVQ rcSlot(SP), DX
	CMPL const_slTID(DX), $0
	JEQ  nameless

named:
	MOVL $const_noStack, CX
	TESTL $const_flagBare, DI
	JNE  emit
	MOVQ rcSite(SP), AX
	TESTL $const_siteGo, const_siFlags(AX)
	JNE  goMemo

	// The memo: if the words that an earlier walk from here read are the same,
	// so is the stack. They are found by their distance from the saved BP, and
	// summed up with a factor for each.
	MOVL $const_memoTries, DI

memoPlace:
	XORL R9, R9
	CMPQ const_meTag(R10), R8
	JNE  memoNext

memoWay:
	MOVL const_meCount(R10), CX
	MOVQ const_meSum(R10), AX
	MOVL const_meStack(R10), SI
	LEAL -1(CX), DX
	CMPL DX, $const_memoLong
	JCC  memoNext
	MARK(const_markMemo)
	MOVWLZX const_meFork(R10), DX
	MOVQ rcBP(SP)(DX*8), DX
	CMPW DX, (const_meFork+const_forkCheck)(R10)
	JNE  memoForked
	CMPL CX, $const_memoWords
	JHI  memoDeep

memoWords:
	MOVWLZX (const_meOffset-2)(R10)(CX*2), DX
	MOVQ rcBP(SP)(DX*8), DX
	IMULQ (const_stFactors-8)(R11)(CX*8), DX
	SUBQ DX, AX
	DECL CX
	JNE  memoWords
	MARK(const_markMemoEnd)
	TESTQ AX, AX
	JNE  memoOther
	CMPQ const_meTag(R10), R8
	JNE  memoNext // it has been written meanwhile
	MOVL SI, CX

emit:
	// CX = number of the stack
	CMPL const_stPython(R11), $0
	JNE  pythonFrames

emitNumbered:
	MOVQ rcSlot(SP), R10
	MOVQ rcW0(SP), R9
	MOVL R9, AX
	ANDL $const_typeMask, AX
	CMPL AX, $const_recNumber
	JEQ  number
	MOVL const_slTID(R10), DX
	SHLQ $const_tidShift, DX
	SHLQ $const_stackShift, CX
	ORQ  DX, R9
	ORQ  CX, R9 // the first word
	MOVL $const_recordSize, R8
	TESTL $const_flagLong, R9
	JEQ  emitSized
	MOVL $const_longRecord, R8

emitSized:
	// The time is that before the place is taken: a thread that loses its processor
	// between the two has a time that is too early, which hdb corrects by that of the
	// record before. The other way round all records behind it would seem to be later.
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, rcW0(SP)
	// As in reserve.
	MOVQ const_stHeader(R11), DI
	MOVQ const_hdHead(DI), AX

emitTake:
	LEAQ (AX)(R8*1), DX
	MOVQ DX, CX
	SUBQ const_stRoom(R11), CX
	CMPQ CX, const_hdTail(DI)
	JGT  emitFull
	MARK(const_markTake) // see alone
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  emitTake
	ANDQ const_stMask(R11), AX
	MOVQ const_stRing(R11), R8
	ADDQ AX, R8
	PREFETCHW_AHEAD
	CMPQ DX, const_hdWakeAt(DI)
	JCC  emitWake

emitStamp:
	// R8 = the record's place
	MOVQ rcW0(SP), AX
	MOVQ AX, 8(R8)
	MOVQ rcW2(SP), AX
	MOVQ AX, 16(R8)
	MOVQ rcW3(SP), AX
	MOVQ AX, 24(R8)
	TESTL $const_flagLong, R9
	JNE  emitLong

emitHead:
	MOVQ R9, 0(R8) // complete

recBack:
	ADDQ $rcBP, SP
	POPQ BP
	XRET

number:
	MOVL CX, const_slStack(R10)
	JMP  recBack

emitLong:
	MOVQ rcW4(SP), AX
	MOVQ AX, 32(R8)
	MOVQ rcW5(SP), AX
	MOVQ AX, 40(R8)
	JMP  emitHead

emitWake:
	CMPL const_hdSleep(DI), $0
	JEQ  emitStamp
	PUSHWALK
	PUSHQ R8 // as in reserve
	CALLTO(const_markWake)
	MOVQ $0, -8(SP) // see goBack
	POPQ R8
	POPWALK
	JMP  emitStamp

emitFull:
	MOVQ rcSite(SP), DX
	TESTL $const_siteGo, const_siFlags(DX)
	JNE  emitLost
	PUSHWALK
	CALLTO(const_markReserve)
	POPWALK
	TESTQ R8, R8
	JNE  emitStamp

emitLost:
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdLost(DX)
	JMP  recBack

recOrphan:
	MOVL $0, const_stEnabled(R11)
	JMP  recBack

nameless:
	GETTID(recAsk, const_markAskAgain, recNamed) // a handler ran before find had done it
	MOVQ rcSlot(SP), DX
	MOVL AX, const_slTID(DX)
	MOVQ STATE, R11
	JMP  named

memoOther:
	// Another stack: it has a place by the first word that is not as in this one. If it is
	// one that saves rbp elsewhere, the word may be none of its own: then it is found from
	// here by what it has there, as the full sum decides.
	MOVL const_meCount(R10), CX
	XORL SI, SI
	MARK(const_markOther)

memoSame:
	CMPL SI, CX
	JCC  memoAlike
	MOVWLZX const_meOffset(R10)(SI*2), DX
	MOVQ rcBP(SP)(DX*8), DX
	CMPW DX, const_meCheck(R10)(SI*2)
	JNE  memoDiffers
	INCL SI
	CMPL SI, $const_memoChecks
	JCS  memoSame
	MARK(const_markOtherEnd)

memoAlike:
	// It differs further out than there are checks: it has a place by what its words add up
	// to. Only one such place is looked at, or many would be, one behind the other.
	TESTL DI, DI
	JLT  memoNext
	MOVL $-1, DI
	ADDQ AX, R8
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ DX, R8
	ORQ  $1, R8
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	JMP  memoPlace

memoNext:
	// The ways are at distances 0 to 3 of the first, by exclusive or.
	MARK(const_markMemoNext)
	XORQ R9, R10
	ADDL $const_memoEntry, R9
	CMPL R9, $(4*const_memoEntry)
	JEQ  walkFirst
	XORQ R9, R10
	CMPQ const_meTag(R10), R8
	JEQ  memoWay
	JMP  memoNext

memoDeep:
	// The entry is the first of several, which are compared one after the other. Each
	// next one has a tag made of the one before and the sum.
	PUSHQ R8
	PUSHQ R9
	PUSHQ R10
	PUSHQ SI
	PUSHQ DI
	MOVL CX, R9 // words to come
	MOVQ AX, DI
	MOVQ $const_memoMore, SI
	MOVL $const_memoWords, CX
	MARK(const_markDeep)

deepWord:
	MOVWLZX (const_meOffset-2)(R10)(CX*2), DX
	MOVQ dpBP(SP)(DX*8), DX
	IMULQ (const_stFactors-8)(R11)(CX*8), DX
	SUBQ DX, AX
	DECL CX
	JNE  deepWord
	CMPQ const_meTag(R10), R8
	JNE  deepLost // it has been written meanwhile
	SUBL $const_memoWords, R9
	JLE  deepSummed
	IMULQ SI, AX
	ADDQ DI, R8
	IMULQ SI, R8
	ORQ  $1, R8
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	XORL CX, CX

deepWay:
	XORQ CX, R10
	CMPQ const_meTag(R10), R8
	JEQ  deepNext
	XORQ CX, R10
	ADDL $const_memoEntry, CX
	CMPL CX, $(4*const_memoEntry)
	JCS  deepWay
	JMP  deepLost

deepNext:
	MOVL $const_memoWords, CX
	CMPL R9, CX
	JCC  deepWord
	MOVL R9, CX
	JMP  deepWord

deepSummed:
	POPQ DI
	POPQ CX // the stack's number
	POPQ R10
	POPQ R9
	POPQ R8
	TESTQ AX, AX
	JEQ  emit
	JMP  memoOther

deepLost:
	MARK(const_markDeepEnd)
	POPQ DI
	POPQ SI
	POPQ R10
	POPQ R9
	POPQ R8
	JMP  memoNext

memoForked:
	// It differs where others that do were seen to.
	MOVWLZX (const_meFork+const_forkWord)(R10), SI
	CMPL SI, $const_memoChecks
	JCC  memoNext
	JMP  memoBranch

memoDiffers:
	// From now on that word is looked at first, if it is further in than the one that is.
	CMPW SI, (const_meFork+const_forkWord)(R10)
	JCC  memoBranch
	MOVL SI, AX
	SHLQ $16, AX
	MOVW const_meCheck(R10)(SI*2), AX
	SHLQ $16, AX
	MOVW const_meOffset(R10)(SI*2), AX
	MOVQ AX, const_meFork(R10)

memoBranch:
	IMULQ const_stFactors(R11)(SI*8), DX
	ADDQ DX, R8
	MOVQ $0x9e3779b97f4a7c15, DX
	IMULQ DX, R8
	ORQ  $1, R8
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	DECL DI
	JGT  memoPlace

walkFirst:
	PUSHWALK
	MOVQ wkSlot(SP), R10
	MOVL DI, const_slTries(R10)
	INCQ const_slGen(R10)
	MOVQ const_slGen(R10), AX
	MOVQ AX, wkGen(SP)
	MOVQ wkSite(SP), DX
	TESTL $const_siteGo, const_siFlags(DX)
	JNE  goAnew
	MOVQ wkRet(SP), R8
	LEAQ (wkRet+8)(SP), R9
	MARK(const_markWalk)

walkAnew:
	// The walk. R8 = PC (after an interrupted one: PC+1), R9 = stack pointer,
	// R10 = rbp, R12 = where rbp was found, CX = frames so far, AX = their hash,
	// R13 = scratch, SI = PC cache, DI = rules, BP = the hash before this frame
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdWalks(DX)
	MOVQ wkSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	MOVQ wkBP(SP), R10
	LEAQ wkBP(SP), R12
	LEAQ wkBX(SP), DX
	MOVQ DX, const_xRBX(R13)
	MOVQ $const_pairsEnd, const_xPairs(R13)
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

walkRule:
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
	MOVQ $0, const_xPairs(R13)
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
	CMPQ R15, CX
	JLE  grows // no room
	MOVQ R12, const_xCFAs(R13)(R15*8)
	ADDQ $8, const_xCFAs(R13)(R15*8)
	MOVQ R10, (const_xPCs+8)(R13)(R15*8)
	DECQ const_xPairs(R13)

grows:
	CMPQ BX, R9
	JHI  cfa
	MOVL $const_endShrinks, DX
	JMP  cut

notBP:
	CMPB DX, $const_formDerefBP
	JNE  notDeref
	MOVQ $0, const_xPairs(R13)
	ADDQ R10, BX
	MARK(const_markDeref)
	MOVQ (BX), BX
	JMP  grows

notDeref:
	CMPB DX, $const_formBX
	JNE  notBX
	MOVQ $0, const_xPairs(R13)
	MOVQ const_xRBX(R13), R15
	ADDQ (R15), BX
	MARK(const_markDerefEnd)
	MOVQ wkSlot(SP), R15
	MOVQ const_slGen(R15), R15
	CMPQ R15, wkGen(SP)
	JEQ  grows
	JMP  again // a signal handler has used the scratch memory

notBX:
	CMPB DX, $const_formRoot
	JEQ  whole
	CMPB DX, $const_formEntry
	JEQ  whole
	CMPB DX, $const_formHidden
	JEQ  hidden
	MOVQ $0, const_xPairs(R13)
	CMPB DX, $const_formSignal
	JEQ  signal
	CMPB DX, $const_formPLT
	JEQ  plt
	CMPB DX, $const_formNoCFI
	JEQ  byPointer
	CMPB DX, $const_formNoModule
	JEQ  generated
	CMPB DX, $const_formToGo
	JEQ  toGo
	CMPB DX, $const_formFromGo
	JEQ  fromGo
	CMPB DX, $const_formGoEnd
	JEQ  goEnd
	MOVL $const_endRule, DX
	JMP  cut

hidden:
	// The probe's own frame, inside of which another call was made.
	MOVQ $0, const_xPairs(R13)
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

toGo:
	// C that Go has called, on the stack of the thread: see unwind.ToGoroutine.
	MARK(const_markToGo)
	MOVQ (R9)(BX*1), R15
	MOVQ -8(R9)(BX*1), BX
	TESTQ R15, R15
	JEQ  toGoSystem
	NEGQ BX
	ADDQ 8(R15), BX
	MOVQ R15, const_xRBX(R13)
	TESTL $const_ruleBP, DX
	JEQ  toGoTop
	CMPQ const_stGoExit(R11), $0
	JNE  toGoPointers

toGoTop:
	ADDQ $8, BX
	TESTL $const_ruleBP, DX
	JEQ  cfa
	ADDQ $8, BX // its rbp
	JMP  cfa

toGoPointers:
	// By frame pointers, which goFrame follows four times as fast as rules: the runtime is
	// known, and rbp is on the goroutine's stack, where it is right when that has moved.
	MOVQ (BX), R10
	MOVQ 8(BX), R8
	MOVQ 8(R15), DI
	MOVQ BX, R9
	MOVQ R15, R12
	SUBQ $16, DI
	TESTQ R8, R8
	JEQ  zeroInside
	MOVL $const_endDepth, DX
	CMPL CX, const_stDepth(R11)
	JCC  cut
	MOVQ const_stGoExit(R11), SI
	JMP  goFrame

toGoSystem:
	// It was on a stack of the system's already.
	LEAQ const_stZero(R11), R15
	MOVQ R15, const_xRBX(R13)
	JMP  toGoTop

fromGo:
	// Go that C has called, on the stack of a goroutine: see unwind.FromGoroutine.
	MOVQ -16(R9), BX
	MARK(const_markToGoEnd)
	ADDQ $16, BX
	JMP  cfa

goEnd:
	// A goroutine's first frame: behind it comes the go statement that made it, if this is the
	// stack of the one that the walk has come to.
	MOVQ const_xRBX(R13), R15
	LEAQ const_stZero(R11), R8
	CMPQ R15, R8
	JEQ  whole
	TESTQ BX, BX
	JEQ  whole // it is not known where
	CMPL CX, const_stDepth(R11)
	JCC  whole
	SHRL $8, DX
	ANDL $0xff, DX
	MARK(const_markGoMade)
	CMPQ R9, 0(R15)
	JLS  whole
	CMPQ R9, 8(R15)
	JHI  whole
	CMPQ (R15)(DX*8), $1
	JEQ  whole // the first was made by nobody
	MOVQ (R15)(BX*1), R8
	MARK(const_markGoMadeEnd)
	TESTQ R8, R8
	JEQ  whole
	MOVQ R8, const_xPCs(R13)(CX*8)
	XORQ R8, AX
	IMULQ R14, AX
	RORQ $29, AX
	INCL CX
	JMP  whole

	MARK(const_markGoUnmade)
	JMP  whole

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
	MOVQ $0, const_xPairs(R13)
	XORQ DX, AX // the same frames with another end are another stack
	IMULQ R14, AX
	JMP  hashed

whole:
	XORL DX, DX
