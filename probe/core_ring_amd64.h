// The core's record, continued: the number of a stack, the memo's new entry, and
// the ring. Included by core_amd64.s.

// MEMOCHECK keeps the low bits of word SI, in AX, in the memo's entry, if there is
// room for them.
#define MEMOCHECK(on) \
	CMPL SI, $const_memoChecks; \
	JCC  on; \
	MOVW AX, const_meCheck(R10)(SI*2); \
on:

hashed:
	// AX = hash, CX = frames, DX = how it ends: has the stack a number?
	ORQ  $1, AX
	MOVQ AX, R15
	MOVL DX, R10
	MOVQ const_stStacks(R11), SI
	MOVL $(const_stackLevels*const_stackTry), R12
	MOVL $((1<<const_stackFew)-1), R14

	MOVQ R15, BX
	SHRQ $20, BX

placeAt:
	ANDL R14, BX
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
	TESTL $(const_stackTry-1), R12
	JNE  placeAt
	MOVL R14, AX
	SHLL $const_stackMore, R14
	ORL  $((1<<const_stackMore)-1), R14 // among more places, but the crowded first ones
	MOVQ R15, BX
	SHRQ $20, BX
	ANDL R14, BX
	MOVL R14, DX
	SHRL $1, DX
	XORL R14, DX
	CMPL BX, AX
	JHI  placeMore
	ORL  DX, BX

placeMore:
	TESTL R12, R12
	JNE  placeAt
	MOVL $(const_noStack-1), BX // no place: its frames are sent each time

publish:
	// BX = number, CX = frames, R10 = end
	RDTSC // as in GETTID: a thread may have to wake hdb
	MOVL CX, R13
	LEAQ 31(CX*8), R8
	ANDQ $~15, R8
	MOVQ R8, R14
	CALLTO(const_markReserve)
	TESTQ R8, R8
	JEQ  unpublished
	MOVQ R8, R12
	MOVL R13, CX
	MOVQ wkSlot(SP), R13
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
	MOVQ wkSlot(SP), DX
	MOVL const_slTID(DX), SI
	MOVQ const_slGen(DX), DX
	CMPQ DX, wkGen(SP)
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
	CMPL BX, $(const_noStack-1)
	JEQ  walked // that is the number of many: the memo must not have it
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
	MOVQ wkSlot(SP), R10
	INCQ const_slGen(R10)
	MOVQ const_slGen(R10), DX
	MOVQ DX, wkGen(SP)
	MOVQ wkRet(SP), R8
	LEAQ (wkRet+8)(SP), R9
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
	JMP  walked

numbered:
	// Keep the words read in the memo, if they are few and all were the walk's.
	MOVQ wkSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	MOVQ const_xPairs(R13), R14
	CMPQ R14, $const_maxPairs
	JCC  walked
	DECL CX
	JLE  walked
	SHRL $4, R14
	LEAL (CX)(R14*1), AX
	CMPL AX, $const_memoWords
	JHI  walked
	MOVQ wkTag(SP), R8
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	XORL SI, SI

memoRoom:
	XORQ SI, R10
	CMPQ const_meTag(R10), $0
	JEQ  memoTake
	XORQ SI, R10
	ADDL $const_memoEntry, SI
	CMPL SI, $(4*const_memoEntry)
	JCS  memoRoom
	RDTSC // one of the four ways at random
	SHLL $(const_memoShift-4), AX
	ANDL $(3<<const_memoShift), AX
	XORQ AX, R10

memoTake:
	MOVQ const_meTag(R10), AX
	MOVL $const_memoBusy, DX
	CMPQ AX, DX
	JEQ  walked
	LOCK
	CMPXCHGQ DX, const_meTag(R10)
	JNE  walked
	LEAQ wkBP(SP), R9
	XORL SI, SI
	XORL DI, DI // the sum

memoFrame:
	MOVQ const_xCFAs(R13)(SI*8), AX
	SUBQ $8, AX
	SUBQ R9, AX
	RORQ $3, AX // in words; large if between two
	CMPQ AX, $0xffff
	JHI  memoNot
	MOVW AX, const_meOffset(R10)(SI*2)
	MOVQ (const_xPCs+8)(R13)(SI*8), AX
	MEMOCHECK(memoFrameUnchecked)
	IMULQ const_stFactors(R11)(SI*8), AX
	ADDQ AX, DI
	INCL SI
	CMPL SI, CX
	JCS  memoFrame
	LEAQ const_xPair(R13), DX

memoPair:
	TESTL R14, R14
	JEQ  memoSummed
	MOVQ 0(DX), AX
	SUBQ R9, AX
	RORQ $3, AX
	CMPQ AX, $0xffff
	JHI  memoNot
	MOVW AX, const_meOffset(R10)(SI*2)
	MOVQ 8(DX), AX
	MEMOCHECK(memoPairUnchecked)
	IMULQ const_stFactors(R11)(SI*8), AX
	ADDQ AX, DI
	INCL SI
	ADDQ $16, DX
	DECL R14
	JMP  memoPair

memoSummed:
	MOVQ wkSlot(SP), DX
	MOVQ const_slGen(DX), AX
	CMPQ AX, wkGen(SP)
	JNE  memoNot // a signal handler has used the scratch memory
	// It forks nowhere yet: the user's return address is as it is for all who come by the tag.
	MOVL $const_memoChecks, AX
	SHLQ $16, AX
	MOVW wkRet(SP), AX
	SHLQ $16, AX
	MOVW $((wkRet-wkBP)/8), AX
	MOVQ AX, const_meFork(R10)
	MOVQ DI, const_meSum(R10)
	MOVL SI, const_meCount(R10)
	MOVL BX, const_meStack(R10)
	MOVQ R8, const_meTag(R10) // complete

walked:
	MOVL BX, CX
	POPWALK
	JMP  emit

memoNot:
	MOVQ $0, const_meTag(R10)
	JMP  walked

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

// reserve takes R8 bytes of the ring, and waits for room, but not for ever.
//
//	in:  R11 = state
//	out: R8 = where, 0 if there is no room
//	clobbers AX, CX, DX, DI, SI
	MARK(const_markReserve)
	MOVQ const_stHeader(R11), DI

reserve:
	MOVQ const_hdHead(DI), AX
	LEAQ (AX)(R8*1), DX
	MOVQ DX, CX
	SUBQ const_stSize(R11), CX
	CMPQ CX, const_hdTail(DI)
	JGT  full
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  reserve
	MOVQ const_stSize(R11), R8
	DECQ R8
	ANDQ AX, R8
	ADDQ const_stRing(R11), R8
	PREFETCHW_AHEAD
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
	MOVL $200, SI // times 10 ms

waitMore:
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  noRoom
	MOVQ const_hdHead(DI), DX
	ADDQ R8, DX
	SUBQ const_stSize(R11), DX
	CMPQ DX, const_hdTail(DI)
	JLE  reserve
	PUSHQ SI
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
	POPQ SI
	MOVQ STATE, R11
	LOCK
	DECL const_hdWaiting(DI)
	DECL SI
	JNE  waitMore
	MOVL $1, const_hdStalled(DI)

noRoom:
	XORL R8, R8
	XRET

// wake wakes the consumer.
//
//	in:  DI = header
//	clobbers AX, CX, DX, SI
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
