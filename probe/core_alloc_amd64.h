// The core's part for calls that allocate, resize or map. Included by core_amd64.s.

// enterAlloc: a call of a function that allocates, resizes or maps.
//
//	in:  as at the function's entry, but AX = key, R10 = the slot where the key
//	     should be, R11 = site
//	out: as from the function
//
// A call that does another one's work goes to the original function directly.
enterAlloc:
	MARK(const_markAlloc)
	PUSHFRAME
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  pass
	CMPQ AX, const_slKey(R10)
	JEQ  allocSlot
	CALLTO(const_markFind)
	TESTQ R10, R10
	JEQ  pass
	MOVQ R10, const_frSlot(SP)
	MOVQ const_frSite(SP), R11

allocSlot:
	// CX = bytes asked for: an argument, a product or a constant
	MOVQ const_siConst(R11), CX
	MOVBLZX const_siSize(R11), DI
	CMPL DI, $6
	JCC  counted
	MOVQ const_frArgs(SP)(DI*8), CX

counted:
	MOVBLZX const_siCount(R11), DI
	CMPL DI, $6
	JCC  sized
	MOVQ const_frArgs(SP)(DI*8), AX
	MULQ CX
	MOVQ AX, CX
	JOC  sized
	MOVQ $-1, CX // the call fails

sized:
	MOVQ CX, const_frSize(SP)
	MOVL const_siFlags(R11), R8
	TESTL $(const_siteVM|const_siteZero), R8
	JEQ  nest
	TESTQ CX, CX
	JNE  notVoid
	TESTL $const_siteZero, R8
	JNE  pass

notVoid:
	TESTL $const_siteOwners, R8
	JEQ  notOwners
	MOVQ const_frameSize(SP), AX
	SUBQ const_siModLow(R11), AX
	CMPQ AX, const_siModLen(R11)
	JCS  pass // of the C library's own

notOwners:
	CALLTO(const_markFreedVM)
	JEQ  pass

nest:
	MOVL const_slDepth(R10), DX
	TESTL DX, DX
	JEQ  own
	CALLTO(const_markTop) // DI = top entry; AX: 0 not made yet or elsewhere, 1 left, 2 jumped from, 3 inside
	CMPL AX, $1
	JLT  own
	JEQ  left
	CMPL AX, $2
	JEQ  jumped
	// inside: does it the work of the call around it?
	CALLTO(const_markWithin)
	JNE  ownInside
	MOVQ const_shSite(DI), SI
	MOVL const_siFlags(SI), AX
	TESTL $const_siteUser, AX
	JNE  jumped
	TESTB $0xff, AX // of the kind alloc, which is 0?
	JNE  jumped
	TESTL $const_siteVM, R8
	JNE  jumped
	TESTB $0xff, R8
	JNE  ownInside
	MOVQ const_frameSize(SP), AX
	SUBQ const_siExempt(SI), AX
	CMPQ AX, const_siExemptLen(SI)
	JCS  ownInside // an exception
	MOVQ const_shLast(DI), SI
	MOVQ const_frameSize(SP), AX
	SUBQ const_siExempt(SI), AX
	CMPQ AX, const_siExemptLen(SI)
	JCS  ownInside
	MOVBLZX const_siBit(R11), AX
	BTQ  AX, const_shServed(DI)
	JCS  ownInside // it has had that already
	TESTL $const_siteSized, R8
	JEQ  serves
	CMPQ CX, const_shSize(DI)
	JCS  ownInside // too small

	JMP  serves

jumped:
	MOVBLZX const_siBit(R11), AX

serves:
	BTSQ AX, const_shServed(DI)
	MOVQ R11, const_shLast(DI)
	JMP  pass

left:
	// The call of entry DI has been left by longjmp or an exception.
	MOVQ $0, const_shSP(DI)
	DECL DX
	MOVL DX, const_slDepth(R10)
	TESTL DX, DX
	JNE  nest
	MOVQ const_shSite(DI), SI
	CMPQ const_siFilter(SI), $0
	JNE  leftStops
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  leftUnreported
	MOVQ const_shSize(DI), DX
	MOVQ const_shAux(DI), R9
	XORL R8, R8
	MOVQ const_siHead(SI), DI
	ORQ  $const_recAbandon, DI
	XORL SI, SI
	CALLTO(const_markRecord)

leftOn:
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ STATE, R9
	MOVQ const_frSize(SP), CX
	MOVL const_siFlags(R11), R8
	JMP  nest

leftUnreported:
	INCQ const_slEvents(R10)
	JMP  nest

leftStops:
	// hdb looks at the entry, and has this call made again. A signal handler leaves the entry alone.
	ORL $const_flagLeft, (const_frIndex+4)(SP)
	MOVL $1, const_slDepth(R10)
	MARK(const_markMatchLeft)
	CALLTO(const_markOffer)
	ANDL $~const_flagLeft, (const_frIndex+4)(SP)
	MOVQ const_frSlot(SP), R10
	MOVL $0, const_slDepth(R10)
	JMP  leftOn

ownInside:
	MOVL $const_flagInside, (const_frIndex+4)(SP)

own:
	CMPL DX, $const_shadowDepth
	JCS  room
	// More calls than can be inside of one another have been left. Start anew.
	LEAQ const_slShadow(R10), DI

clear:
	MOVQ $0, const_shSP(DI)
	ADDQ $const_shadowSize, DI
	DECL DX
	JNE  clear
	MOVL DX, (const_frIndex+4)(SP)

room:
	MOVL DX, const_frIndex(SP)
	MOVQ const_siGuard(R11), DI
	TESTQ DI, DI
	JNE  guard

guarded:
	MOVQ $0, const_slFreed(R10)
	TESTL DX, DX
	JNE  bounds
	MOVQ $const_noBlock, const_slInside(R10)

bounds:
	TESTL $(const_modeNumber|const_modeLive), const_stMode(R9)
	JEQ  enter
	MOVQ const_stHeader(R9), DI
	LOCK
	INCQ const_hdCount(DI)
	LOCK
	ADDQ CX, const_hdLive(DI) // hdb takes what it must not be off again
	LOCK
	INCQ const_hdBlocks(DI)

enter:
	LEAL 1(DX), AX
	IMULQ $const_shadowSize, DX
	LEAQ const_slShadow(R10)(DX*1), DI
	MOVL AX, const_slDepth(R10) // from here on the entry exists, with shSP 0
	MOVQ const_frameSize(SP), AX
	MOVQ AX, const_shRet(DI)
	MOVQ R11, const_shSite(DI)
	MOVQ R11, const_shLast(DI)
	MOVQ CX, const_shSize(DI)
	MOVQ $0, const_shServed(DI)
	MOVBLZX const_siAuxWord(R11), AX
	TESTL AX, AX
	JEQ  noAux
	MOVQ (SP)(AX*8), AX

noAux:
	MOVQ AX, const_shAux(DI)
	LEAQ const_frameSize(SP), AX
	MOVQ AX, const_shSP(DI)

	// realloc gives its old block up: another thread may be handed it before
	// the result is known.
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  run
	CMPB R8, $const_kindRealloc
	JNE  run
	MOVBLZX const_siOld(R11), DI
	MOVQ const_frArgs(SP)(DI*8), SI
	TESTQ SI, SI
	JEQ  run
	MOVQ const_siHead(R11), DI
	ORQ  $(const_recBegin|const_flagBare), DI
	ANDQ $~const_flagLong, DI
	MOVQ CX, DX
	CALLTO(const_markRecord)
	MOVQ const_frSite(SP), R11

run:
	MOVQ $0, const_frAddr(SP)
	LOADARGS
	TESTL $const_siteWide, const_siFlags(R11)
	MOVQ const_siReloc(R11), R11
	JNE  wide
	CALL R11
	MARK(const_markReturn)

returned:
	// AX, DX = the results
	MOVQ AX, const_frRes(SP)
	MOVQ DX, const_frRes2(SP)
	MOVQ STATE, R9
	CMPL const_stEnabled(R9), $0
	JEQ  back // disabled, or this is a fork child
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVL const_frIndex(SP), DX

popEntry:
	MOVL const_slDepth(R10), CX
	CMPL CX, DX
	JLS  popped
	DECL CX
	MOVL CX, const_slDepth(R10)
	IMULQ $const_shadowSize, CX
	MOVQ $0, (const_slShadow+const_shSP)(R10)(CX*1)
	JMP  popEntry

popped:
	// SI = the block
	MOVQ AX, SI
	MOVL const_siFlags(R11), R8
	CMPB const_siResult(R11), $0
	JEQ  succeeded
	TESTL AX, AX
	JEQ  succeeded
	ORL  $const_flagFailed, (const_frIndex+4)(SP)
	XORL SI, SI
	JMP  found

succeeded:
	MOVBLZX const_siPtr(R11), DI
	CMPL DI, $const_ptrReturned
	JEQ  found
	CMPL DI, $const_ptrPointed
	JEQ  pointed
	MOVQ const_frArgs(SP)(DI*8), SI
	JMP  found

pointed:
	MOVBLZX const_siPointed(R11), DI
	MOVQ const_frArgs(SP)(DI*8), SI
	MARK(const_markResult)
	MOVQ (SI), SI

found:
	MOVQ SI, const_frAddr(SP)
	TESTL $const_siteText, R8
	JEQ  measured
	TESTQ SI, SI
	JEQ  measured
	MOVQ SI, DI

measure:
	MOVBLZX (DI), AX
	INCQ DI
	TESTL AX, AX
	JNE  measure
	SUBQ SI, DI
	MOVQ DI, const_frSize(SP)

measured:
	MARK(const_markResultEnd)
	// It is an event now, unless one inside of it was that has made the block, or it
	// is inside of another call and has failed.
	MOVQ const_frAddr(SP), SI
	MOVL $const_noBlock, AX
	TESTL $const_flagInside, (const_frIndex+4)(SP)
	JEQ  made
	LEAQ -1(SI), DI
	CMPQ DI, $-2
	JCC  noneInside
	MOVQ SI, AX

made:
	CMPQ SI, const_slInside(R10)
	MOVQ AX, const_slInside(R10)
	JNE  judged

noEvent:
	ORL $const_flagNoEvent, (const_frIndex+4)(SP)
	TESTL $const_modeRecord, const_stMode(R9)
	JNE  judged
	DECQ const_slEvents(R10) // as it is counted below; or hdb counts it

judged:
	MOVQ const_siFilter(R11), DI
	TESTQ DI, DI
	JEQ  allocPassed
	CALL DI
	TESTL AX, AX
	JEQ  allocPassed

allocMay:
	CMPL AX, $const_askedSure
	JEQ  allocSure
	MOVQ const_frSite(SP), R11
	TESTL $const_siteVerdict, const_siFlags(R11)
	JEQ  allocStops
	MOVL $const_recNumber, DI
	CALLTO(const_markRecord)
	MOVQ const_frSlot(SP), R10
	MOVQ STATE, R9
	MOVL const_slStack(R10), AX
	CMPL AX, $(1<<const_stackBits)
	JCC  allocStops
	MOVQ const_stVerdicts(R9), DI
	CMPB (DI)(AX*1), $const_verdictNo
	JEQ  allocPassed

allocStops:
	MARK(const_markMatchAlloc)
	CALLTO(const_markOffer)
	JMP  allocUnreported

allocSure:
	ORL $const_flagSure, (const_frIndex+4)(SP)
	JMP allocStops

allocPassed:
	MOVQ STATE, R9
	TESTL $const_modeRecord, const_stMode(R9)
	JEQ  allocUnreported
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frAddr(SP), SI
	MOVQ const_frSize(SP), DX
	MOVQ const_siHead(R11), DI
	ORQ  $const_recAlloc, DI
	MOVL (const_frIndex+4)(SP), AX
	ANDL $~const_flagNoEvent, AX // that is for hdb to tell
	ORQ  AX, DI
	TESTL $const_flagLong, DI
	JEQ  short
	XORL R8, R8
	XORL R9, R9
	MOVBLZX const_siOld(R11), AX
	CMPL AX, $6
	JCC  noOld
	MOVQ const_frArgs(SP)(AX*8), R8

noOld:
	MOVBLZX const_siAlign(R11), AX
	CMPL AX, $6
	JCS  aux
	MOVBLZX const_siCount(R11), AX
	CMPL AX, $6
	JCC  short

aux:
	MOVQ const_frArgs(SP)(AX*8), R9

short:
	CALLTO(const_markRecord)
	JMP  back

noneInside:
	// NULL is no failure where it means that the old block was freed.
	CMPB R8, $const_kindRealloc
	JNE  noEvent
	MOVBLZX const_siOld(R11), DI
	CMPQ const_frArgs(SP)(DI*8), $0
	JEQ  noEvent
	CMPQ const_frSize(SP), $0
	JEQ  made
	JMP  noEvent

guard:
	// Is the block that a realloc gives back one that it may?
	CALL DI
	TESTL AX, AX
	JEQ  guardDone

guardOffer:
	ORL $const_flagWrong, (const_frIndex+4)(SP)
	MARK(const_markMatchGuard)
	CALLTO(const_markOffer)
	ANDL $~const_flagWrong, (const_frIndex+4)(SP)

guardDone:
	MOVQ STATE, R9
	MOVQ const_frSlot(SP), R10
	MOVQ const_frSite(SP), R11
	MOVQ const_frSize(SP), CX
	MOVL const_frIndex(SP), DX
	MOVL const_siFlags(R11), R8
	JMP  guarded

allocUnreported:
	MOVQ const_frSlot(SP), R10
	INCQ const_slEvents(R10)

back:
	MOVQ const_frRes(SP), AX
	MOVQ const_frRes2(SP), DX
	ADDQ $const_frameSize, SP
	XRET

wide:
	// A function of the user's may take arguments on the stack: it gets copies.
	SUBQ $const_wideSize, SP
	XORL AX, AX
	MARK(const_markWide)

wideWord:
	MOVQ (const_wideSize+const_frameSize+8)(SP)(AX*8), R10
	MOVQ R10, (SP)(AX*8)
	INCL AX
	CMPL AX, $(const_wideSize/8)
	JCS  wideWord
	MARK(const_markWideEnd)
	CALL R11
	MARK(const_markReturnWide)
	ADDQ $const_wideSize, SP
	JMP  returned

pass:
	// The call is none of ours: the original function, as if nothing had been.
	LOADARGS
	MOVQ const_frSite(SP), R11
	ADDQ $const_frameSize, SP
	MOVQ const_siReloc(R11), R11
	JMP  R11
