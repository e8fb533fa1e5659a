// The core's record, continued: code objects of Python, which are told of when they are
// first seen, because they may be gone before hdb looks. Included by core_amd64.s.

// PYTEXT makes AX the size of the str object that the code object R13 has at an offset, in
// words: its largest header, and its text with the character behind it (struct PyASCIIObject,
// Include/cpython/unicodeobject.h), but not more than maxPyText.
//
//	clobbers CX, DX, DI
#define PYTEXT(offset) \
	MOVQ offset(R11), DX; \
	MOVQ (R13)(DX*1), DI; \
	MOVL 32(DI), CX; \
	SHRL $2, CX; \
	ANDL $7, CX; \
	MOVL $const_maxPyText, AX; \
	MOVQ 16(DI), DX; \
	INCQ DX; \
	CMPQ DX, AX; \
	CMOVQHI AX, DX; \
	IMULQ CX, DX; \
	ADDQ $(const_pyTextHead+7), DX; \
	CMPQ DX, AX; \
	CMOVQCS DX, AX; \
	SHRQ $3, AX

// PYPIECE copies CX words from SI to DI, and notes in the record R8 which they are.
#define PYPIECE(n) \
	MOVQ SI, (16+16*(n))(R8); \
	MOVQ CX, (24+16*(n))(R8); \
	REP; MOVSQ

// pyCodes tells of the code objects of calls that were not told of lately.
//
//	in:  BX, R9, R10 as in pyPlace, which goes on at pyCalls; R10 has no upper half
//	clobbers all but BX, BP, R9, R10
pyCodes:
	MOVQ R10, AX
	SHLQ $32, AX
	ORQ  AX, R10 // calls to come
	MOVQ BP, R12
	MARK(const_markPythonCodes)

pyCode:
	MOVQ const_stPyMark(R11), DX
	MOVWLZX (R12)(DX*1), CX
	ANDL const_stPyMarks(R11), CX
	CMPL CX, const_stPyShim(R11)
	JEQ  pyCodeNext
	MOVQ const_stPyCode(R11), DX
	MOVQ (R12)(DX*1), R13
	PYID(R13, DI, AX, pyCodeContents, pyCodeID)
	MOVQ CX, R14
	SHRQ $(64-const_codeBits), R14
	MOVQ const_stPyCodes(R11), DX
	LEAQ (DX)(R14*8), R14
	CMPQ CX, (R14)
	JEQ  pyCodeNext

	// R15 = the words of its texts, 8 bits each, of its table, 12 bits, and the record's
	// length in 16 bytes.
	PYTEXT(const_stPyName)
	MOVQ AX, R15
	PYTEXT(const_stPyQualname)
	MOVQ AX, R8
	SHLQ $8, AX
	ORQ  AX, R15
	PYTEXT(const_stPyFile)
	ADDQ AX, R8
	SHLQ $16, AX
	ORQ  AX, R15
	MOVQ const_stPyLines(R11), DX
	MOVQ (R13)(DX*1), DI
	MOVQ 16(DI), AX // ob_size of a bytes object, whose bytes are behind
	MOVL $const_maxPyTable, DX
	CMPQ AX, DX
	CMOVQHI DX, AX
	ADDQ $(33+15), AX // at least what PYCONTENTS reads
	SHRQ $3, AX
	ADDQ AX, R8
	SHLQ $24, AX
	ORQ  AX, R15
	MOVBLZX R15, AX
	ADDQ AX, R8
	ADDQ const_stPyCodeWords(R11), R8
	LEAQ (96+15)(R8*8), R8
	SHRQ $4, R8
	MOVQ R8, AX
	SHLQ $36, AX
	ORQ  AX, R15
	SHLQ $4, R8
	MARK(const_markPythonCodesEnd)
	CALLTO(const_markReserve)
	TESTQ R8, R8
	JEQ  pyCodesDone // the next stack tells
	LEAQ 96(R8), DI
	CLD
	MARK(const_markPythonCode)
	MOVQ R13, SI
	MOVQ const_stPyCodeWords(R11), CX
	PYPIECE(0)
	MOVQ const_stPyName(R11), DX
	MOVQ (R13)(DX*1), SI
	MOVBLZX R15, CX
	PYPIECE(1)
	MOVQ const_stPyQualname(R11), DX
	MOVQ (R13)(DX*1), SI
	MOVQ R15, CX
	SHRQ $8, CX
	MOVBLZX CX, CX
	PYPIECE(2)
	MOVQ const_stPyFile(R11), DX
	MOVQ (R13)(DX*1), SI
	MOVQ R15, CX
	SHRQ $16, CX
	MOVBLZX CX, CX
	PYPIECE(3)
	MOVQ const_stPyLines(R11), DX
	MOVQ (R13)(DX*1), SI
	MOVQ R15, CX
	SHRQ $24, CX
	ANDL $0xfff, CX
	PYPIECE(4)
	PYID(R13, DI, AX, pyToldContents, pyToldID)
	MARK(const_markPythonCodeEnd)
	MOVQ CX, 8(R8)
	SHRQ $36, R15
	SHLQ $const_countShift, R15
	ORQ  $const_recCode, R15
	MOVQ R15, 0(R8) // complete
	MOVQ CX, (R14)
	MARK(const_markPythonNextCode)

pyCodeNext:
	MOVQ const_stPyPrevious(R11), DX
	MOVQ (R12)(DX*1), R12
	MOVQ $(1<<32), AX
	SUBQ AX, R10
	MOVQ R10, AX
	SHRQ $32, AX
	JEQ  pyCodesDone
	TESTQ R12, R12
	JNE  pyCode

	MARK(const_markPythonCodesDone)

pyCodesDone:
	MOVL R10, R10
	JMP  pyCalls

	// The way out of a load that faults while a code object is copied.
	MARK(const_markPythonNoCode)
	SHRQ $36, R15
	SHLQ $const_countShift, R15
	ORQ  $const_recPad, R15
	MOVQ R15, 0(R8)
	JMP  pyCodesDone
