// The core's record, continued: the number of a stack, the memo's new entry, and
// the ring. Included by core_amd64.s.

// MEMOINDEX makes R15 the index in the scratch memory of word SI, of which CX are return
// addresses.
#define MEMOINDEX(frame) \
	MOVL SI, R15; \
	CMPL R15, CX; \
	JCS  frame; \
	NEGQ R15; \
	LEAQ const_pairsEnd(R15)(CX*1), R15; \
frame:

hashed:
	// AX = hash, CX = frames, DX = how it ends: has the stack a number?
	ORQ  $1, AX
	MOVQ AX, R15
	MOVL DX, R10
	CALLTO(const_markPlace)
	TESTL AX, AX
	JEQ  numbered

publish:
	// BX = number, CX = frames, R10 = end
	RDTSC // as in GETTID: a thread may have to wake hdb
	MOVL CX, R13
	LEAQ 31(CX*8), R8
	ANDQ $~15, R8
	MOVQ R8, R14
	MOVQ wkSite(SP), DX
	TESTL $const_siteGo, const_siFlags(DX)
	JNE  publishNow
	CALLTO(const_markReserve)

publishIn:
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

publishNow:
	CALLTO(const_markReserveNow)
	JMP  publishIn

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
	MOVQ wkSite(SP), DX
	TESTL $const_siteGo, const_siFlags(DX)
	JNE  goAnew
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
	// Keep the words read in the memo, if all were the walk's: first the return addresses
	// above the first, and then what was read of rbp.
	MOVQ wkSlot(SP), R13
	SUBQ const_stSlots(R11), R13
	SHRQ $const_slotShift, R13
	IMULQ $const_scratchSize, R13
	ADDQ const_stScratch(R11), R13
	DECL CX
	JLE  walked
	MOVL CX, BP
	ADDL $const_pairsEnd, BP
	SUBL const_xPairs(R13), BP // words
	JLE  walked
	CMPL BP, $const_memoLong
	JHI  walked

	// Chains give way to what is there, but for one walk in memoRare: if there are more
	// than there is room for, a part of them stays, and the others cost little. So do stacks
	// whose place is by what their words add up to: if some of these are none of the stack's
	// own, it may have another place each time.
	MOVQ wkTag(SP), R8
	MOVQ $0, wkTag(SP)
	CMPL BP, $const_memoWords
	JHI  memoRarely
	MOVQ wkSlot(SP), DX
	CMPL const_slTries(DX), $0
	JGE  memoWanted

memoRarely:
	RDTSC
	SHRL $6, AX
	ANDL $(const_memoRare-1), AX
	MOVQ AX, wkTag(SP) // for the whole chain: not 0 if it gives way
	JEQ  memoWanted
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	XORL R14, R14

memoFree:
	XORQ R14, R10
	CMPQ const_meTag(R10), $0
	JEQ  memoWanted
	XORQ R14, R10
	ADDL $const_memoEntry, R14
	CMPL R14, $(4*const_memoEntry)
	JCS  memoFree
	JMP  walked

memoWanted:
	// Their sum: DI. SI = word, R14 = its place in an entry, R12 = what the entry counts.
	LEAQ (wkBP+8)(SP), R9
	XORL SI, SI
	XORL R14, R14
	XORL DI, DI
	MOVL $1, R12

memoSum:
	MEMOINDEX(memoSumFrame)
	MOVQ const_xCFAs(R13)(R15*8), AX
	SUBQ R9, AX
	RORQ $3, AX // in words; large if between two
	CMPQ AX, $0xffff
	JHI  walked
	MOVQ (const_xPCs+8)(R13)(R15*8), AX
	IMULQ const_stFactors(R11)(R14*8), AX
	IMULQ R12, AX
	ADDQ AX, DI
	INCL R14
	CMPL R14, $const_memoWords
	JCS  memoSumNext
	XORL R14, R14
	MOVQ $const_memoLess, AX
	IMULQ AX, R12

memoSumNext:
	INCL SI
	CMPL SI, BP
	JCS  memoSum

	// An entry for each memoWords of them.
	XORL SI, SI

memoEntry:
	RDTSC // one of the four ways at random, if none is free
	MEMOWAY(R8, R10)
	ADDQ const_stMemo(R11), R10
	SHLL $(const_memoShift-4), AX
	ANDL $(3<<const_memoShift), AX
	MOVQ R10, R12
	XORQ AX, R12
	MOVL $(3*const_memoEntry), R14 // the first that is free, for recordQuick

memoRoom:
	XORQ R14, R10
	MOVQ const_meTag(R10), AX
	CMPQ AX, R8
	JNE  memoRoomElse
	CMPQ const_meSum(R10), DI
	JEQ  memoThere // it was one of those behind it that was lost

memoRoomElse:
	TESTQ AX, AX
	CMOVQEQ R10, R12
	XORQ R14, R10
	SUBL $const_memoEntry, R14
	JCC  memoRoom
	MOVQ R12, R10
	MOVQ const_meTag(R10), AX
	TESTQ AX, AX
	JEQ  memoTake
	CMPL wkTag(SP), $0
	JNE  walked

memoTake:
	MOVL $const_memoBusy, DX
	CMPQ AX, DX
	JEQ  walked
	LOCK
	CMPXCHGQ DX, const_meTag(R10)
	JNE  walked
	MOVL BP, R12
	TESTL SI, SI
	JEQ  memoHead
	XORL R12, R12

memoHead:
	XORL R14, R14

memoWord:
	MEMOINDEX(memoWordFrame)
	MOVQ const_xCFAs(R13)(R15*8), AX
	SUBQ R9, AX
	SHRQ $3, AX
	MOVW AX, const_meOffset(R10)(R14*2)
	CMPL R14, $const_memoChecks
	JCC  memoUnchecked
	MOVQ (const_xPCs+8)(R13)(R15*8), AX
	MOVW AX, const_meCheck(R10)(R14*2)

memoUnchecked:
	INCL SI
	INCL R14
	CMPL SI, BP
	JCC  memoWritten
	CMPL R14, $const_memoWords
	JCS  memoWord

memoWritten:
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
	MOVL R12, const_meCount(R10)
	MOVL BX, const_meStack(R10)
	MOVQ R8, const_meTag(R10) // complete

memoOn:
	CMPL SI, BP
	JCC  walked
	ADDQ DI, R8 // as in memoDeep
	MOVQ $const_memoMore, AX
	IMULQ AX, R8
	ORQ  $1, R8
	JMP  memoEntry

memoThere:
	ADDL $const_memoWords, SI
	JMP  memoOn

walked:
	MOVL BX, CX
	MOVQ $0, -8(SP) // see goBack
	MOVQ $0, -16(SP)
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

// reserve takes R8 bytes of the ring, and waits for room, but not for an hdb that takes
// nothing out of it.
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
	SUBQ const_stRoom(R11), CX
	CMPQ CX, const_hdTail(DI)
	JGT  full
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  reserve

reserveTaken:
	MOVQ const_stMask(R11), R8
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
	TESTL $const_quietWaits, const_stQuiet(R11)
	JNE  spin
	MOVL $200, SI // times 10 ms

waitMore:
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  noRoom
	MOVQ const_hdHead(DI), DX
	ADDQ R8, DX
	SUBQ const_stRoom(R11), DX
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
	CMPL const_hdDrained(DI), DX
	JNE  wait // hdb does its part: others were quicker
	DECL SI
	JNE  waitMore
	MOVL $1, const_hdStalled(DI)
	JMP  noRoom

spin:
	// The same without system calls.
	LOCK
	INCL const_hdWaiting(DI)

spinAnew:
	MOVL const_hdDrained(DI), CX
	MOVL $const_spinTries, SI

spinMore:
	TESTL $const_ownerDied, const_hdAlive(DI)
	JNE  spinGaveUp
	MOVQ const_hdHead(DI), DX
	ADDQ R8, DX
	SUBQ const_stRoom(R11), DX
	CMPQ DX, const_hdTail(DI)
	JLE  spinRoom
	PAUSE
	CMPL const_hdDrained(DI), CX
	JNE  spinAnew // hdb does its part: others were quicker
	DECL SI
	JNE  spinMore
	MOVL $1, const_hdStalled(DI)

spinGaveUp:
	LOCK
	DECL const_hdWaiting(DI)

noRoom:
	XORL R8, R8
	XRET

spinRoom:
	LOCK
	DECL const_hdWaiting(DI)
	JMP  reserve

// reserveNow is reserve, but waits for nothing.
	MARK(const_markReserveNow)
	MOVQ const_stHeader(R11), DI

reserveNow:
	MOVQ const_hdHead(DI), AX
	LEAQ (AX)(R8*1), DX
	MOVQ DX, CX
	SUBQ const_stRoom(R11), CX
	CMPQ CX, const_hdTail(DI)
	JGT  noRoom
	LOCK
	CMPXCHGQ DX, const_hdHead(DI)
	JNE  reserveNow
	JMP  reserveTaken

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

// place finds the number of a stack.
//
//	in:  R15 = its hash, R11 = state
//	out: BX = number, AX = 0 if it has been given already; a new one has to be
//	     published, as has, each time, noStack-1, which is for all that find no place
//	clobbers DX, SI, R12, R14
	MARK(const_markPlace)
	MOVQ const_stStacks(R11), SI
	MOVL $(const_stackLevels*const_stackTry), R12
	MOVL $((1<<const_stackFew)-1), R14

	MOVQ R15, BX
	SHRQ $20, BX

placeAt:
	ANDL R14, BX
	MOVQ (SI)(BX*8), DX
	CMPQ DX, R15
	JEQ  placeKnown
	TESTQ DX, DX
	JNE  placeNext
	XORL AX, AX
	LOCK
	CMPXCHGQ R15, (SI)(BX*8)
	JEQ  placeNew
	CMPQ AX, R15
	JEQ  placeKnown

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

placeNew:
	MOVL $1, AX
	XRET

placeKnown:
	XORL AX, AX
	XRET
