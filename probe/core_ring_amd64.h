// The core's record, continued: the number of a stack, the memo's new entry, and
// the ring. Included by core_amd64.s.

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
