package probe

import "encoding/binary"

// The layout of what the core, in assembly, and hdb share. The assembler reads
// these constants from go_asm.h, so that there is one place for each. Offsets
// and sizes are in bytes.

// factors are odd numbers of 32 bits without a pattern (splitmix64), by which the memo weighs
// words: sums of different words differ, except a chance of one in many billions.
func factors() []byte {
	var b []byte
	for i := range uint64(memoWords) {
		z := (i + 1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b = binary.LittleEndian.AppendUint64(b, uint64(int32((z^z>>31)>>32|1)))
	}
	return b
}

// The state page: private to the inferior's process and wiped in a fork child
// (MADV_WIPEONFORK), which therefore finds the probe disabled.
const (
	stEnabled    = 0   // uint32: 0 lets every call pass, else enabled or quickEnabled
	stMode       = 8   // uint64: modeRecord
	stHeader     = 16  // address of the shared header
	stRing       = 24  // address of the ring, mapped twice in a row
	stRoom       = 32  // how many bytes of the ring may wait to be read: ringSpare less than it has,
	stMask       = 248 // which is a power of two: that less 1
	stModules    = 40  // address of the module table
	stNumMods    = 48  // its length
	stRules      = 56  // address of the CFI rules, 8 bytes each
	stCache      = 64  // address of the PC cache
	stStacks     = 72  // address of the set of stack hashes
	stMemo       = 80  // address of the stack memo
	stDepth      = 88  // most frames of a stack
	stSlots      = 96  // address of the slots
	stScratch    = 104 // address of the slots' scratch memory
	stReturn     = 120 // where functions return to in the core,
	stReturnWide = 128 // and those with siteWide
	stVerdicts   = 136 // address of the verdicts on stacks, a byte each
	stSums       = 144 // where the code ends that sums up an entry of the memo
	stSignal     = 152 // uint32: what a thread sends itself to offer a match,
	stSignalSet  = 160 // and the set of it alone, for rt_sigprocmask
	stZero       = 112 // 8 bytes that stay zero: where a lost register is "saved"
	stFactors    = 256 // memoWords factors of the memo's sums, 8 bytes each

	// How calls of Python are read, see Python; all are offsets if nothing else is said.
	stPython      = 1024 // uint32: how a thread's state is found, 0 if no calls are read
	stPyShim      = 1028 // uint32: the mark of frames that are no calls
	stPyState     = 1032 // address of the pointer to the state that holds the lock
	stPyOnStack   = 1040 // in a state: a pointer into the stack of the thread that runs it, 0: it has none
	stPyThread    = 1048 // in a state: what pthread_self() returns
	stPyKey       = 1056 // address of the interpreter's key for thread-specific data, 0 unknown
	stPyCFrame    = 1064 // in a state: the pointer to what has stPyFrame, 0: the state has it
	stPyFrame     = 1072 // the innermost frame
	stPyPrevious  = 1080 // in a frame: the one before,
	stPyCode      = 1088 // its code object,
	stPyInstr     = 1096 // its instruction, of which
	stPyMask      = 1104 // these bits count,
	stPyMark      = 1112 // and uint16: what kind of frame it is, as far as
	stPyMarks     = 1152 // uint32: these bits tell
	stPyLines     = 1120 // in a code object: its line table,
	stPyFirst     = 1128 // and uint32: its first line
	stPyName      = 1160 // its name,
	stPyQualname  = 1168 // the same or its qualified name,
	stPyFile      = 1176 // and its file,
	stPyCodeWords = 1184 // and how many words of it are wanted
	stPyCodes     = 1192 // address of the hashes of those that were sent lately
	stPyFrees     = 1200 // address of the counters of code objects that were freed, uint32 each, by place; 0: the core is not told of them
	stPyEpoch     = 1208 // what the counters began at: another number each time that the core was not told for a while, in bits 32 and up
	// How a Go runtime is read, see golang.go: offsets, if nothing else is said.
	stGoExit    = 1216 // the return address in which stacks of goroutines end
	stGoM       = 1224 // in a goroutine: its m,
	stGoID      = 1232 // its number,
	stGoPC      = 1240 // and the return address of the go statement that made it
	stGoCurG    = 1248 // in an m: the goroutine of the user's
	stGoStart   = 1256 // in a span: the address of its first slot,
	stGoFree    = 1264 // below which slot all may be in use,
	stGoElems   = 1272 // how many slots it has, both of
	stGoNumMask = 1280 // these bits; but if they are 16,
	stGoBits    = 1288 // a pointer to which slots were in use,
	stGoSize    = 1296 // bytes of a slot,
	stGoClass   = 1304 // uint8: which kind of slots
	stGoArena   = 1312 // uint8: not 0 if it is none of the runtime's; offset 0: there are no such
	stGoTypes   = 1320 // address of what conditions say of types, by descriptor

	stQuiet = 1328 // uint32: which system calls the core does not make

	stPairs  = 1136 // address of the cache of stacks with calls of Python
	stPySeen = 1144 // address of the hashes of those that were sent lately

	stateSize = 4096
)

// Values of stEnabled other than 0.
const (
	enabled      = 1
	quickEnabled = 2 // events are recorded: functions of C and C++ take the short way
)

// Bits of stQuiet.
const (
	quietCalls = 1 << 0 // gettid, and those that offer a match: traps take their place
	quietWaits = 1 << 1 // futex, to wait for room: threads spin

	// spinTries is how often a thread looks for room while hdb takes nothing out of the ring: for 0.2 to 3
	// seconds, as pause takes 10 to 140 cycles.
	//lint:ignore U1000 assembly has it
	spinTries = 1 << 26
)

// Values of stPython other than 0.
const (
	pyCurrent = 1 // what holds the lock, if it is the thread's, or what thread-specific data has
	pyKept    = 2 // what thread-specific data has

	pyMarkShift = 48 // the mark of a call, above its instruction
)

// Where glibc keeps thread-specific data in struct pthread: specific_1stblock, an array of
// {sequence number, value} for the first keys.
const (
	tsdValues = 784 + 8
	tsdShift  = 4
	tsdKeys   = 32
)

// Bits of stMode.
const (
	modeRecord = 1 << 0 // events go to the ring
	modeNumber = 1 << 1 // events are counted in hdCount
	modeLive   = 1 << 2 // and blocks in hdLive and hdBlocks
)

// A slot is what the core keeps of one thread. Its key is the FS base, which is
// the thread's own as long as it lives.
const (
	slKey       = 0  // FS base; 0 in a free slot, slotLeft in one whose thread has ended
	slTID       = 8  // uint32
	slDepth     = 12 // uint32: entries of the shadow stack
	slEvents    = 16 // uint64: events of the thread so far that were neither recorded nor offered
	slGen       = 24 // uint64: counts uses of the scratch memory
	slRestarted = 32 // uint32: 1 once free has jumped to its own entry (siteRestarts)
	slFreed     = 40 // block of the last free, 0 if none
	slFreedSP   = 48 // stack pointer at its entry
	slFreedRet  = 56 // return address
	slFreedDone = 64 // bits of the functions that freed it
	slFreedSite = 72 // the last of them
	slStack     = 80 // uint32: number of the stack that recNumber asked for last
	slTries     = 84 // int32: of the last walk: below 0 if its stack was looked for by what its words add up to
	slInside    = 88 // block of the last event inside the call that the thread is in, noBlock if none
	slShadow    = 96
	slSpan      = 488 // the span that the thread sweeps, 0 none,
	slSpanFree  = 496 // and what stGoFree and
	slSpanBits  = 504 // stGoBits had when it began

	slotShift = 9 // a slot is 512 bytes
	slotSize  = 1 << slotShift
	slotBits  = 10
	numSlots  = 1 << slotBits
	slotHash  = -0x61c88647 // 2^32 divided by the golden ratio, as in linux/hash.h; for the key's lower half
	slotLeft  = 1
	noBlock   = 1 // neither a block nor NULL
)

// What a condition's code returns: no stop wants the call, a stop may want it unless its stack says no, the
// block that it returns seems to be none, or a stop may want it whatever its stack.
const (
	askedNo    = 0
	askedMay   = 1
	askedWrong = 2
	askedSure  = 3
)

// What the conditions of stops say of a type of Go, by its descriptor: a byte for each of
// their patterns. The table is a hash table with open addressing, which hdb fills when a type
// is met first; until then the answer is goTypeMay.
const (
	gtKey  = 0  // address of the descriptor + 1, 0 in a free entry
	gtSize = 8  // bytes of a value
	gtOne  = 16 // the bytes of a block that has one value,
	gtMany = 24 // and of one that has several, or part of one

	goTypeShift    = 5 // an entry is 32 bytes
	goTypeEntry    = 1 << goTypeShift
	goTypeBits     = 13
	goTypeTries    = 32
	goTypeHash     = -0x61c8864680b583eb // 2^64 divided by the golden ratio
	goTypePatterns = 8

	goTypeNo  = 0
	goTypeYes = 1
	goTypeMay = 2 // not known yet
)

// offerTries is how often a match is offered before the thread continues without.
const offerTries = 10_000

// An entry of the shadow stack is a call that has not returned.
const (
	shSP     = 0 // address of the return address, 0 while the entry is being made
	shRet    = 8
	shSite   = 16
	shLast   = 24 // the last function that did its work
	shSize   = 32 // bytes asked for
	shServed = 40 // bits of the functions that did its work
	shAux    = 48 // count or alignment, if its records are long

	shadowSize  = 56
	shadowDepth = 7
)

// A site is an allocator function, as the core sees it.
const (
	siReloc     = 0  // address of its relocated prologue
	siModLow    = 8  // its module, [low, low+len)
	siModLen    = 16 //
	siFlags     = 24 // uint32: the kind in the low byte, siteVM and so on
	siBit       = 28 // uint8: number of the function in sets
	siOldWord   = 29 // uint8 each, for the short way: words of the frame, in the order of a long record;
	siAuxWord   = 30 // 0 if there is nothing
	siLonger    = 31 // uint8: of the record beyond recordSize
	siSize      = 32 // uint8 operands: index of an argument, or operandNone
	siCount     = 33
	siAlign     = 34
	siOld       = 35
	siPtr       = 36  // uint8: index of an argument, or ptrReturned, ptrPointed
	siPointed   = 38  // of ptrPointed: index of the argument
	siResult    = 37  // uint8: 1 if the call has failed when its int result is not 0
	siHead      = 40  // uint64: the record's first word, except the type
	siConst     = 48  // the size if siSize is operandNone
	siFilter    = 56  // address of the condition's code, 0 if no stop is here
	siTail      = 64  // where the function returns to if it was called from a quick thunk or by the short way
	siDone      = 72  // uint64: the function's bit in shServed or slFreedDone
	siQuick     = 80  // uint64: siHead with the type of the record of a call that has returned, or frees; and with noStack if it is bare
	siBegin     = 88  // uint64: the first word of the record before it, of a realloc that begins
	siExempt    = 96  // [exempt, exempt+len) in its module: calls from there are no events if it frees, because that code empties a thread's cache;
	siExemptLen = 104 // else they do no function's work, because it allocates exceptions; of a Go runtime the function that sweeps a span
	siGuard     = 112 // address of code that looks at the old block before it runs, 0 if nothing does
	siteBytes   = 120

	operandNone = 0xff
	ptrReturned = 0xff
	ptrPointed  = 0xfe
)

// Bits of siFlags above the kind, which is a capture.Kind.
const (
	siteVM       = 1 << 8  // mmap and its family
	siteUser     = 1 << 9  // named by the user
	siteSized    = 1 << 10 // the size is known at the entry
	siteZero     = 1 << 11 // a call with size 0 does nothing: sbrk(0), mprotect
	siteLong     = 1 << 12 // records have two more words: old, and count or alignment; of mmap flags and protection
	siteText     = 1 << 13 // the size is the length of the string returned
	siteWide     = 1 << 14 // may take arguments on the stack
	siteVerdict  = 1 << 15 // a stop asks about the stack: its verdict is kept by number
	siteOwners   = 1 << 16 // calls from its own module are no events
	siteGo       = 1 << 17 // of a Go runtime: no thread may wait in it
	siteTypes    = 1 << 18 // its condition asks for types of Go
	siteRestarts = 1 << 19 // frees, and jumps to its own entry once in each thread

	kindFree    = 1 // capture.Free and so on; a test compares them
	kindRealloc = 2
	kindUnmap   = 4
)

// The frame of the core while the original function runs, from its stack
// pointer up. The canonical frame address is at frameSize+8.
const (
	frIndex = 0  // uint32: of the shadow entry; uint32 flagInside
	frSlot  = 8  //
	frSite  = 16 //
	frArgs  = 24 // rdi rsi rdx rcx r8 r9
	frRes   = 72 // rax
	frRes2  = 80 // rdx
	frAddr  = 88 // the block
	frSize  = 96 // bytes asked for

	frameSize = 104 // the return address follows

	// Of a function of a Go runtime the arguments are the size and the address of the type's
	// descriptor, and behind them is what the core has found out.
	frGoID    = frArgs + 16 // the goroutine
	frGoTypes = frArgs + 24 // goTypePatterns bytes: what the type's entry in the table of types says

	// While a match is offered, further words are below the frame.
	ofMask  = 16 // the thread's signal mask
	ofFrame = 32

	// What a function with siteWide gets of the caller's stack, in bytes.
	wideSize = 256
)

// What thunks of functions that sweep have on the stack for the core, which is as long as
// the core's frame.
const (
	gwAX = 0  // the function's argument,
	gwTo = 96 // and where it continues

	gwSize = frameSize
)

// The shared header, the first page of the memory file.
const (
	hdHead    = 0   // uint64: bytes reserved by the inferior
	hdWakeAt  = 8   // uint64: head at which the consumer wants to be woken
	hdAlive   = 16  // uint32: a robust futex of hdb: the TID of its keeper, or ownerDied
	hdStalled = 20  // uint32: the consumer has not been seen to work
	hdCount   = 24  // uint64: events of all threads, or more
	hdLive    = 32  // uint64: bytes of live blocks, or more
	hdBlocks  = 40  // uint64: live blocks, or more
	hdTail    = 64  // uint64: bytes consumed
	hdSleep   = 72  // uint32: futex, 1 while the consumer sleeps
	hdDrained = 76  // uint32: futex, changes with the tail when hdWaiting is set
	hdWaiting = 80  // uint32: threads wait for room
	hdRobust  = 96  // hdb's struct robust_list for hdAlive
	hdLost    = 128 // uint64: events lost because there is no room
	hdLostSt  = 136 // uint64: stacks lost because there is no room
	hdNoSlot  = 144 // uint64: calls of threads without a slot
	hdFull    = 152 // uint64: times that a thread had to wait
	hdMiss    = 160 // uint64: PC cache misses
	hdWalks   = 168 // uint64: stacks walked in full
	hdNew     = 176 // uint64: stacks published
	hdLostPy  = 184 // uint64: events whose calls of Python could not be read

	hdThreads = 512 // uint32 each: the TIDs of threads that conditions name

	maxThreadCells = 256

	headerSize = 4096

	ownerDied = 0x40000000 // FUTEX_OWNER_DIED, linux/futex.h
)

// A record's first word: type, flags, site, TID and stack, from the low bits
// up. It is 0 until the record is complete. For the other words see record.
const (
	recAlloc   = 1  // a call of an alloc, realloc or map function has returned
	recFree    = 2  // a call of a free or unmap function begins
	recBegin   = 3  // a call of a realloc function with an old block begins
	recAbandon = 4  // a call was left without returning
	recStack   = 5  // the frames of a stack follow
	recPython  = 8  // calls of Python
	recCode    = 10 // a code object of Python
	recPair    = 9  // a stack is another with calls of Python
	recSweep   = 11 // a garbage collector has found slots of a span free
	recNumber  = 7  // never in the ring: the number of the stack is all that is wanted
	recPad     = 6  // nothing: the bytes are to be skipped

	flagLong   = 1 << 4 // 48 bytes, else 32
	flagInside = 1 << 5 // made inside another call that is an event
	flagFailed = 1 << 6 // the int result was not 0
	flagBare   = 1 << 7 // no stack

	flagWrong = 1 << 30 // never in a record: the call is offered because of the block that it returns
	flagSure  = 1 << 29 // never in a record: the call is offered whatever its stack, whose number was not asked for

	flagLeft    = 1 << 27 // never in a record: the call is none yet, what is offered is the outermost of the slot, which has been left
	flagNoEvent = 1 << 28 // never in a record: the call is no further event, because one inside of it has been, or it has failed inside another

	typeMask   = 0xf
	siteShift  = 8 // 12 bits
	tidShift   = 20
	stackShift = 42
	noStack    = 1<<22 - 1

	countShift  = 8 // recStack: frames, 12 bits; recPython: calls, 12 bits; recPad and recCode: 16-byte units
	reasonShift = 20
	sweepShift  = stackShift // recSweep: words of the bitmap
	sweepHead   = 48         // bytes of it before the bitmap: time, first slot, bytes of a slot, slots, kind of slots
	maxSweep    = 1024       // words of the bitmap: more slots than any span has
	recordSize  = 32
	longRecord  = 48
)

// ringSpare is what is left free in the ring: threads that have seen that there is room for a
// record take it without another look, as late as they may come to it. There are numSlots of them.
const ringSpare = 1 << 16

const _ = uint(ringSpare - numSlots*longRecord)

// Flags of a frame in recStack, above the 47 bits of an address.
const (
	frameGuess = 63 // bit: found by the frame pointer
	framePC    = 62 // bit: not a return address
)

// Why a stack ends.
const (
	endWhole   = 0
	endDepth   = 1 // the limit
	endRule    = 2 // CFI that the core cannot follow
	endNoCFI   = 3 // no CFI and no frame pointer
	endShrinks = 4 // the CFA does not grow
	endFault   = 5 // the stack cannot be read
	endZero    = 6 // return address 0 in the middle
	endNoCode  = 7 // the return address is in no module and behind no call
)

// The verdicts on a stack. One that says no cannot make any stop hold, whatever
// else is true of the call.
const (
	verdictNone = 0 // it was not asked yet
	verdictNo   = 1
	verdictMay  = 2
)

// The set of stack hashes, the PC cache and the memo.
const (
	stackBits = stackFew + (stackLevels-1)*stackMore // log2 of the places of stacks
	// A place is looked for among few first, which are next to each other, and then
	// among more and more: the numbers of a program's stacks, by which there are
	// tables in hdb, too, are as small as may be.
	stackFew    = 11 // log2 of the places looked at first
	stackMore   = 3  // what that grows by
	stackLevels = 4  // times
	stackTry    = 16 // places looked at for one hash each time, a power of two

	pairBits   = 16    // log2 of the entries of stPairs, 8 bytes each: bits of a hash | number
	freeBits   = 16    // log2 of the counters of stPyFrees
	seenBits   = 15    // log2 of those of stPySeen, a hash each
	codeBits   = 14    // and of stPyCodes
	maxPyText  = 1024  // bytes of a text that are sent: the words fit in a byte
	maxPyTable = 32000 // of a line table
	pyTextHead = 72    // of the largest header of a text
	maxPython  = 1000  // calls of Python that a stack has

	cacheBits = 14 // log2 of its entries, 8 bytes each: PC<<16 | rule

	memoBits   = 13 // log2 of its entries
	memoShift  = 8  // an entry is 256 bytes
	memoEntry  = 1 << memoShift
	memoWords  = 96                     // words that an entry compares
	memoLong   = 42 * memoWords         // words of the longest stack that is remembered, by several entries
	memoRare   = 256                    // of this number of walks one may take entries from others for a chain, a power of two
	memoChecks = 16                     // and the first of them, of which it has the low 16 bits
	memoTries  = memoChecks + 1         // stacks that one is compared with: no word tells two of them apart from the next
	memoBusy   = 2                      // the tag of an entry that is being written
	meTag      = 0                      // uint64: of PC, stack pointer and words that differed, an odd number; 0 if there is nothing
	meSum      = 8                      // of all words of the stack, each times its factor
	meCount    = 16                     // uint32: words of the stack, in this entry and those that it leads to; 0 in these
	meStack    = 20                     // uint32: the stack's number
	meFork     = 24                     // uint64: the word that is compared first: its offset, check and place
	meOffset   = 32                     // uint16 each: words from where record saves rbp
	meCheck    = meOffset + 2*memoWords // uint16 each

	forkCheck = 2 // in meFork, uint16 each
	forkWord  = 4 // memoChecks or more: there is no fork

	// Words of the next entry count memoMore times those of the one before, and those of the
	// one before memoLess times: each is the other's inverse.
	memoMore = 0x9e3779b97f4a7c15
	memoLess = 0xf1de83e19937733d

	sumSize = 17  // bytes of code that take a word off a sum
	sumBias = 127 // by which the code's pointer to offsets is off, so that none is far or 0
)

// A thread's scratch memory.
const (
	xRBX   = 0 // where the frame's rbx is saved; on the stack of a goroutine, where none is, the goroutine
	xPairs = 8 // uint64: index of the next rbp, pairsEnd if there is none yet; 0 if the stack does not go into the memo
	xPCs   = 16
	xCFAs  = xPCs + 8*maxDepth

	maxDepth = 1<<12 - 1 // what recStack can count
	minDepth = 1

	// The other end of PCs and CFAs has what was read of rbp: its value behind the PC of
	// the index, and the address behind it in place of the CFA.
	pairsEnd = maxDepth - 2

	scratchSize = (xCFAs + 8*maxDepth + 4095) &^ 4095
)

// An entry of the module table.
const (
	moLow   = 0  // run address of the first row
	moLen   = 8  // bytes
	moRows  = 16 // number of rows
	moOffs  = 24 // address of their offsets, uint32 each
	moIDs   = 32 // address of their rules, uint16 each
	modSize = 40
)

// Forms of a rule, as package cfi packs them; a test compares them.
const (
	formSP          = 0
	formBP          = 1
	formBX          = 2
	formDerefBP     = 3
	formRoot        = 4
	formSignal      = 5
	formUnsupported = 6
	formNoCFI       = 7
	formPLT         = 8
	formHidden      = 9
	formEntry       = 10
	formToGo        = 11
	formFromGo      = 12
	formGoEnd       = 13
	formNoModule    = 14 // the core's own, for code outside of all modules

	ruleBP    = 1 << 24
	ruleBPBP  = 1 << 25
	ruleNoBP  = 1 << 26
	ruleBX    = 1 << 28
	ruleBXBP  = 1 << 29
	ruleNoBX  = 1 << 30
	ruleOdd   = ruleBPBP | ruleNoBP | ruleBXBP | ruleNoBX
	ruleNoMod = 5 // id of the rule for code outside of all modules: the first free one
)
