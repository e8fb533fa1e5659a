// The core's record, continued: the calls of Python that a thread is in. Included by
// core_amd64.s.

// While calls are read, PUSHWALK's free words have where to go on and the number of the
// native stack, and BP has the first of the interpreter's frames.
#define pyBack wkGen
#define pyNative wkTag

// PYBOTH makes AX the hash of both stacks together. R9 is that of the calls, R13 and R14 are
// the factors.
#define PYBOTH \
	MOVQ pyNative(SP), AX; \
	INCQ AX; \
	IMULQ R14, AX; \
	XORQ R9, AX; \
	IMULQ R13, AX

// PYOWN goes to other if the state R8 is not the thread's, R12 = what pthread_self() returns:
// if another thread has made it, or runs it now, while this one has released the lock. It goes
// to own or on if it is. Except for the main thread, what pthread_self() returns is where the
// stack ends.
//
//	clobbers AX, DX
#define PYOWN(other, own) \
	MOVQ const_stPyThread(R11), DX; \
	CMPQ R12, (R8)(DX*1); \
	JNE  other; \
	MOVQ const_stPyOnStack(R11), DX; \
	TESTQ DX, DX; \
	JEQ  own; \
	MOVQ (R8)(DX*1), AX; \
	CMPQ AX, SP; \
	JCS  other; \
	CMPQ R12, SP; \
	JCS  own; \
	CMPQ AX, R12; \
	JCC  other

#define PYFACTORS \
	MOVQ $0x9e3779b97f4a7c15, R13; \
	MOVQ $0xd1342543de82ef95, R14

// PYSEEN makes SI the place that the hash R9 of calls has among those that were sent.
#define PYSEEN \
	MOVQ R9, AX; \
	SHRQ $(64-const_seenBits), AX; \
	MOVQ const_stPySeen(R11), SI; \
	LEAQ (SI)(AX*8), SI

// PYPAIR makes DX the place that the cache has for the hash AX, and AX what tells it there
// from others: the bits that are not in the place, above a number of a stack.
#define PYPAIR \
	MOVQ AX, SI; \
	SHRQ $(64-const_pairBits), SI; \
	MOVQ const_stPairs(R11), DX; \
	LEAQ (DX)(SI*8), DX; \
	SHLQ $const_stackBits, AX

// PYWORDS reads what tells the call of the frame R8 from all others: SI = code object,
// AX = instruction with the frame's mark above. It goes to shim if the frame is no call,
// but stands where C called the interpreter. BX, R12 and R15 are offsets in the frame, of
// the one before, its code and its instruction.
#define PYWORDS(shim) \
	MOVQ (R8)(R12*1), SI; \
	MOVQ (R8)(R15*1), AX; \
	ANDQ const_stPyMask(R11), AX; \
	MOVQ const_stPyMark(R11), DX; \
	MOVWLZX (R8)(DX*1), CX; \
	ANDL const_stPyMarks(R11), CX; \
	CMPL CX, const_stPyShim(R11); \
	JEQ  shim; \
	SHLQ $const_pyMarkShift, CX; \
	ORQ  CX, AX

// An ID of a code object, CX, tells it from all others, such as the next one that has its
// memory. Where the core is told of code objects that are freed, PYNUMBERED makes it of where
// the object is and how many were freed there, or at a place with the same counter, and PYID
// of the epoch; factor is 0x9e3779b97f4a7c15, frees the counters. (Two objects may have the same
// ID if their addresses times the factor are as near as counts are: one chance in 2^48 or so.)
//
//	clobbers DX
#define PYNUMBERED(code, frees, factor) \
	MOVQ code, CX; \
	IMULQ factor, CX; \
	MOVQ CX, DX; \
	SHRQ $(64-const_freeBits), DX; \
	MOVL (frees)(DX*4), DX; \
	ADDQ DX, CX

// PYCONTENTS makes it, where the core is not told, of where the object is and its line table,
// its first line, the hash that its name keeps of its text (struct PyASCIIObject), and how long
// the table is and how it begins (struct PyBytesObject).
//
//	clobbers DX
#define PYCONTENTS(code, factor) \
	MOVQ const_stPyName(R11), DX; \
	MOVQ (code)(DX*1), DX; \
	MOVQ 24(DX), CX; \
	MOVQ const_stPyLines(R11), DX; \
	MOVQ (code)(DX*1), DX; \
	ADDQ DX, CX; \
	IMULQ factor, CX; \
	RORQ $29, CX; \
	XORQ 32(DX), CX; \
	IMULQ factor, CX; \
	RORQ $29, CX; \
	XORQ 40(DX), CX; \
	ADDQ 16(DX), CX; \
	IMULQ factor, CX; \
	RORQ $29, CX; \
	MOVQ const_stPyFirst(R11), DX; \
	MOVL (code)(DX*1), DX; \
	SHLQ $48, DX; \
	XORQ DX, CX; \
	ADDQ code, CX; \
	IMULQ factor, CX; \
	ORQ  $1, CX

// PYID is either, by labels of its own.
//
//	clobbers DX, a, b
#define PYID(code, a, b, contents, done) \
	MOVQ $0x9e3779b97f4a7c15, a; \
	MOVQ const_stPyFrees(R11), b; \
	TESTQ b, b; \
	JEQ  contents; \
	PYNUMBERED(code, b, a); \
	ADDQ const_stPyEpoch(R11), CX; \
	JMP  done; \
contents: \
	PYCONTENTS(code, a); \
done:

#define PYOFFSETS \
	MOVQ const_stPyPrevious(R11), BX; \
	MOVQ const_stPyCode(R11), R12; \
	MOVQ const_stPyInstr(R11), R15

// pythonStack makes of the number of a native stack the number of that stack with the
// calls of Python that the thread is in. The stack that has both is published as two
// records: the calls, unless they were lately, and the pair.
//
//	in:  CX = number of the stack, R11 = state, DI = 0 to go on at emitNumbered, else at
//	     quickMerged; the frame is record's
//	out: CX = number
//	clobbers all but BX, R11-R15
pythonFrames:
	XORL DI, DI

pythonStack:
	CMPL CX, $(const_noStack-1)
	JCC  pyLeft // none, or one that many share
	PUSHWALK
	MOVQ DI, pyBack(SP)
	MOVQ CX, pyNative(SP)
	MOVQ wkSlot(SP), DX
	MOVQ const_slKey(DX), R12 // what pthread_self() returns
	CMPQ R12, $const_slotLeft
	JLS  pyNone // hdb has just let go of the process
	MARK(const_markPython)

	// The interpreter's state of the thread: the one that it runs with now, or while it
	// has given up the interpreter's lock, the one that it keeps.
	CMPL const_stPython(R11), $const_pyCurrent
	JNE  pyKept
	MOVQ const_stPyState(R11), R8
	MOVQ (R8), R8
	TESTQ R8, R8
	JEQ  pyKept
	PYOWN(pyKept, pyFound)
	JMP  pyFound

pyKept:
	MOVQ const_stPyKey(R11), DX
	TESTQ DX, DX
	JEQ  pyNone
	MOVQ (DX), AX // int _is_initialized, pthread_key_t _key
	TESTL AX, AX
	JEQ  pyNone
	SHRQ $32, AX
	CMPQ AX, $const_tsdKeys
	JCC  pyNone
	SHLL $const_tsdShift, AX
	MOVQ const_tsdValues(R12)(AX*1), R8
	TESTQ R8, R8
	JEQ  pyNone
	PYOWN(pyNone, pyFound)

pyFound:
	MOVQ const_stPyCFrame(R11), DX
	TESTQ DX, DX
	JEQ  pyDirect
	MOVQ (R8)(DX*1), R8

pyDirect:
	MOVQ const_stPyFrame(R11), DX
	MOVQ (R8)(DX*1), R8
	TESTQ R8, R8
	JEQ  pyNone
	MOVQ R8, BP

	// Their hash: R9, R10 = how many, DI = the counters of code objects that were freed. What
	// is multiplied for one call waits for no other's, but for the last.
	PYOFFSETS
	PYFACTORS
	MOVQ const_stPyFrees(R11), DI
	MOVQ $0x243f6a8885a308d3, R9
	XORQ const_stPyEpoch(R11), R9
	XORL R10, R10

pyNext:
	PYWORDS(pyShim)
	TESTQ DI, DI
	JEQ  pyContents
	PYNUMBERED(SI, DI, R13)

pyIdentified:
	IMULQ R14, AX
	XORQ CX, R9
	XORQ AX, R9

pyMixed:
	IMULQ R13, R9
	RORQ $29, R9
	INCL R10
	MOVQ (R8)(BX*1), R8
	TESTQ R8, R8
	JEQ  pyEnd
	CMPL R10, $const_maxPython
	JCS  pyNext
	ADDQ R13, R9 // more than are told
	JMP  pyEnd

pyShim:
	ADDQ R14, R9
	JMP  pyMixed

pyContents:
	PYCONTENTS(SI, R13)
	JMP  pyIdentified

pyEnd:
	MARK(const_markPythonEnd)
	ORQ  $1, R9
	PYBOTH
	MOVQ AX, R15
	PYPAIR
	MOVQ (DX), CX
	XORQ CX, AX
	SHRQ $const_stackBits, AX
	JNE  pyPlace
	ANDL $((1<<const_stackBits)-1), CX

pyNumbered:
	MOVQ pyBack(SP), DI
	POPWALK

pyLeft:
	TESTL DI, DI
	JEQ  emitNumbered
	JMP  quickMerged

pyNone:
	MARK(const_markPythonNone)
	MOVQ pyNative(SP), CX
	JMP  pyNumbered

pyPlace:
	// R15 = the hash of both
	ORQ  $1, R15
	CALLTO(const_markPlace)
	TESTL AX, AX
	JEQ  pyKeep
	CMPL BX, $(const_noStack-1)
	JEQ  pyLost
	RDTSC // as in publish
	PYSEEN
	CMPQ R9, (SI)
	JEQ  pyPair

	JMP  pyCodes

pyCalls:
	// The calls: R13 = where. Three words each.
	LEAQ (R10)(R10*2), R8
	LEAQ (32+15)(R8*8), R8
	ANDQ $~15, R8
	CALLTO(const_markReserve)
	TESTQ R8, R8
	JEQ  pyUnsent
	MOVQ R8, R13
	MOVQ R9, 16(R13)
	MOVQ BX, AX
	PUSHQ AX
	PUSHQ R10
	PYOFFSETS
	MOVQ BP, R8
	LEAQ 32(R13), DI
	MARK(const_markPythonCopy)

pyCopy:
	PYWORDS(pyCopyShim)
	MOVQ SI, 0(DI)
	MOVQ AX, 8(DI)
	PYID(SI, R14, AX, pyCopyContents, pyCopyID)
	MOVQ CX, 16(DI)

pyCopied:
	ADDQ $24, DI
	MOVQ (R8)(BX*1), R8
	DECL R10
	JEQ  pyComplete
	TESTQ R8, R8
	JNE  pyCopy

	MARK(const_markPythonCopyEnd)
	// They are not what they were: the number is given back, as in spoilt.
	POPQ R10
	POPQ AX
	MOVQ AX, BX
	LEAQ (R10)(R10*2), DX
	LEAQ (32+15)(DX*8), DX
	SHRQ $4, DX // in 16 bytes
	SHLQ $const_countShift, DX
	ORQ  $const_recPad, DX
	MOVQ DX, 0(R13)
	JMP  pyUnsent

pyCopyShim:
	MOVQ $0, 0(DI)
	MOVL CX, AX
	SHLQ $const_pyMarkShift, AX
	MOVQ AX, 8(DI)
	MOVQ $0, 16(DI)
	JMP  pyCopied

pyComplete:
	POPQ R10
	POPQ AX
	MOVQ AX, BX
	XORL AX, AX
	TESTQ R8, R8
	SETNE AX
	MOVQ AX, 24(R13) // there are more
	MOVQ wkSlot(SP), DX
	MOVL const_slTID(DX), DX
	MOVQ DX, 8(R13)
	MOVL R10, DX
	SHLQ $const_countShift, DX
	ORQ  $const_recPython, DX
	MOVQ DX, 0(R13) // complete
	PYSEEN
	MOVQ R9, (SI)

pyPair:
	MOVL $const_recordSize, R8
	CALLTO(const_markReserve)
	TESTQ R8, R8
	JEQ  pyUnsent
	MOVQ R9, 8(R8)
	MOVQ pyNative(SP), AX
	MOVQ AX, 16(R8)
	MOVQ $0, 24(R8)
	MOVQ BX, DX
	SHLQ $const_stackShift, DX
	ORQ  $const_recPair, DX
	MOVQ DX, 0(R8) // complete
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdNew(DX)

pyKeep:
	PYFACTORS
	PYBOTH
	PYPAIR
	ORQ  BX, AX
	MOVQ AX, (DX)
	MOVL BX, CX
	JMP  pyNumbered

pyUnsent:
	MOVQ const_stStacks(R11), SI
	MOVQ $0, (SI)(BX*8)

pyLost:
	MOVQ const_stHeader(R11), DX
	LOCK
	INCQ const_hdLostPy(DX)
	JMP  pyNone
