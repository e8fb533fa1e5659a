// The core's record: the memo and the walk of the stack. Included by
// core_amd64.s, before core_ring_amd64.h, where it goes on.

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
