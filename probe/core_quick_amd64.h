// The core's short way, for calls of simple functions while all that is to be
// done is to record them. Included by core_amd64.s.

// quickAlloc: a call of a function that allocates, whose size is its first
// argument and whose block is its result. Registers as for enterAlloc, which
// does it all if the thread is in another call, or if anything else is out of
// the ordinary.
	MARK(const_markQuickAlloc)
	CMPQ AX, const_slKey(R10)
	JNE  enterAlloc
	MOVQ STATE, AX
	CMPL const_stEnabled(AX), $const_onlyRecords
	JNE  allocKey
	CMPL const_slDepth(R10), $0
	JNE  allocKey
	LEAQ -const_frameSize(SP), SP
	MOVL $1, const_slDepth(R10) // from here on the entry exists, with shSP 0
	MOVQ $0, const_slFreed(R10)
	INCQ const_slEvents(R10)
	MOVQ const_frameSize(SP), AX
	MOVQ AX, (const_slShadow+const_shRet)(R10)
	MOVQ R11, (const_slShadow+const_shSite)(R10)
	MOVQ R11, (const_slShadow+const_shLast)(R10)
	MOVQ DI, (const_slShadow+const_shSize)(R10)
	MOVQ $0, (const_slShadow+const_shServed)(R10)
	LEAQ const_frameSize(SP), AX
	MOVQ AX, (const_slShadow+const_shSP)(R10)
	MOVQ $0, const_frIndex(SP)
	MOVQ R10, const_frSlot(SP)
	MOVQ R11, const_frSite(SP)
	MOVQ DI, const_frSize(SP)
	// What the memo has comes from memory while the function runs.
	MOVQ const_frameSize(SP), AX
	LEAQ (const_frameSize+8)(SP), R10
	MEMOAT(AX, R10, R11)
	MOVQ STATE, R10
	ADDQ const_stMemo(R10), R11
	MOVQ AX, const_frArgs(SP)
	MOVQ R11, (const_frArgs+8)(SP)
	PREFETCHT0 (R11)
	PREFETCHT0 64(R11)
	MOVQ const_frSite(SP), R11
	MOVQ const_siReloc(R11), R11
	CALL R11
	MARK(const_markReturnQuick)
	// AX, DX = the results; what is out of the ordinary by now is for the code
	// behind enterAlloc's call.
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $const_onlyRecords
	JNE  returned
	MOVQ const_frSlot(SP), R10
	CMPL const_slDepth(R10), $1
	JNE  returned
	MOVL $0, const_slDepth(R10)
	MOVQ $0, (const_slShadow+const_shSP)(R10)
	MOVQ AX, const_frRes(SP)
	MOVQ DX, const_frRes2(SP)
	MOVQ const_frSite(SP), R11
	MOVQ AX, SI
	MOVQ const_frSize(SP), DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recAlloc, DI
	MOVQ const_frArgs(SP), R8
	MOVQ (const_frArgs+8)(SP), R10
	CALLTO(const_markRecordShort)
	MOVQ const_frRes(SP), AX
	MOVQ const_frRes2(SP), DX
	ADDQ $const_frameSize, SP
	XRET

allocKey:
	MOVQ const_slKey(R10), AX
	JMP  enterAlloc

// quickFree: a call of a function that frees its first argument and has no
// other. Registers as for enterFree, which does the rest.
	MARK(const_markQuickFree)
	TESTQ DI, DI
	JEQ  quickVoid
	CMPQ AX, const_slKey(R10)
	JNE  enterFree
	MOVQ STATE, AX
	CMPL const_stEnabled(AX), $const_onlyRecords
	JNE  freeKey
	CMPL const_slDepth(R10), $0
	JNE  freeKey
	CMPQ DI, const_slFreed(R10)
	JEQ  freeKey // it may be further work on the block
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
	INCQ const_slEvents(R10)
	MOVQ const_frameSize(SP), R8
	LEAQ (const_frameSize+8)(SP), R9
	MEMOAT(R8, R9, R10)
	ADDQ const_stMemo(CX), R10
	MOVQ DI, SI
	XORL DX, DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recFree, DI
	CALLTO(const_markRecordShort)
	JMP  pass

quickVoid:
	MOVQ const_siReloc(R11), R11 // free(NULL)
	JMP  R11

freeKey:
	MOVQ const_slKey(R10), AX
	JMP  enterFree
