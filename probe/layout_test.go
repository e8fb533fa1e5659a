package probe

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"hdb/capture"
	"hdb/probe/cfi"
)

// What the core has as a number and other packages have by name.
func TestNumbersAgree(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"formSP", formSP, int(cfi.SP)},
		{"formBP", formBP, int(cfi.BP)},
		{"formBX", formBX, int(cfi.BX)},
		{"formDerefBP", formDerefBP, int(cfi.DerefBP)},
		{"formRoot", formRoot, int(cfi.Root)},
		{"formSignal", formSignal, int(cfi.Signal)},
		{"formUnsupported", formUnsupported, int(cfi.Unsupported)},
		{"formNoCFI", formNoCFI, int(cfi.NoCFI)},
		{"formPLT", formPLT, int(cfi.PLT)},
		{"formHidden", formHidden, int(cfi.Hidden)},
		{"formEntry", formEntry, int(cfi.Entry)},
		{"formToGo", formToGo, int(cfi.ToGoroutine)},
		{"formFromGo", formFromGo, int(cfi.FromGoroutine)},
		{"formGoEnd", formGoEnd, int(cfi.GoroutineEnd)},
		{"formNoModule", formNoModule, int(cfi.GoroutineEnd) + 1},
		{"ruleBP", ruleBP, int(cfi.NewRule(0, 0, cfi.RBPAtCFA, 0, 0))},
		{"ruleBPBP", ruleBPBP, int(cfi.NewRule(0, 0, cfi.RBPAtRBP, 0, 0))},
		{"ruleNoBP", ruleNoBP, int(cfi.NewRule(0, 0, cfi.RBPLost, 0, 0))},
		{"ruleBX", ruleBX, int(cfi.NewRule(0, 0, cfi.RBXAtCFA, 0, 0))},
		{"ruleBXBP", ruleBXBP, int(cfi.NewRule(0, 0, cfi.RBXAtRBP, 0, 0))},
		{"ruleNoBX", ruleNoBX, int(cfi.NewRule(0, 0, cfi.RBXLost, 0, 0))},
		{"ruleNoMod", ruleNoMod, len(cfi.NewRules().List())},
		{"kindFree", kindFree, int(capture.Free)},
		{"kindRealloc", kindRealloc, int(capture.Realloc)},
		{"kindUnmap", kindUnmap, int(capture.Unmap)},
		{"alloc is 0: the core tests for it so", 0, int(capture.Alloc)},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}
}

// The places of cfi.Rule's parts, which the walker takes apart with shifts.
func TestRuleParts(t *testing.T) {
	const rbpShift, rbxShift, offsetShift = 8, 16, 32
	r := cfi.NewRule(cfi.Signal, -3, 0, -5, 7)
	if int8(r>>rbpShift) != -5 || int8(r>>rbxShift) != 7 || int32(r>>offsetShift) != -3 || uint8(r) != formSignal {
		t.Errorf("%#x", uint64(r))
	}
}

// A field is bytes of a structure that the core knows by its offset.
type field struct {
	name     string
	at, size int
}

func u64(name string, at int) field { return field{name, at, 8} }
func u32(name string, at int) field { return field{name, at, 4} }

// structures lists what layout.go lays out.
var structures = []struct {
	name   string
	size   int
	fields []field
}{
	{"state", stateSize, []field{
		u32("enabled", stEnabled), u64("mode", stMode), u64("header", stHeader), u64("ring", stRing), u64("room", stRoom),
		u64("modules", stModules), u64("numMods", stNumMods), u64("rules", stRules), u64("cache", stCache),
		u64("stacks", stStacks), u64("memo", stMemo), u64("depth", stDepth), u64("slots", stSlots),
		u64("scratch", stScratch), u64("return", stReturn), u64("returnWide", stReturnWide),
		u64("verdicts", stVerdicts), u64("sums", stSums), u32("signal", stSignal), u64("signalSet", stSignalSet), u64("zero", stZero), {"factors", stFactors, 8 * memoWords},
		u32("quiet", stQuiet),
	}},
	{"slot", slotSize, []field{
		u64("key", slKey), u32("tid", slTID), u32("depth", slDepth), u64("events", slEvents), u64("gen", slGen), u32("restarted", slRestarted),
		u64("freed", slFreed), u64("freedSP", slFreedSP), u64("freedRet", slFreedRet), u64("freedDone", slFreedDone),
		u64("freedSite", slFreedSite), u32("stack", slStack), u64("inside", slInside), {"shadow", slShadow, shadowSize * shadowDepth},
	}},
	{"shadow entry", shadowSize, []field{
		u64("sp", shSP), u64("ret", shRet), u64("site", shSite), u64("last", shLast), u64("size", shSize), u64("served", shServed), u64("aux", shAux),
	}},
	{"site", siteBytes, []field{
		u64("reloc", siReloc), u64("modLow", siModLow), u64("modLen", siModLen), u32("flags", siFlags), {"bit", siBit, 1},
		{"oldWord", siOldWord, 1}, {"auxWord", siAuxWord, 1}, {"longer", siLonger, 1},
		{"size", siSize, 1}, {"count", siCount, 1}, {"align", siAlign, 1}, {"old", siOld, 1}, {"ptr", siPtr, 1}, {"pointed", siPointed, 1},
		{"result", siResult, 1}, u64("head", siHead), u64("const", siConst), u64("filter", siFilter), u64("tail", siTail), u64("done", siDone), u64("quick", siQuick), u64("begin", siBegin),
		u64("exempt", siExempt), u64("exemptLen", siExemptLen), u64("guard", siGuard),
	}},
	{"type of Go", goTypeEntry, []field{
		u64("key", gtKey), u64("size", gtSize), {"one", gtOne, goTypePatterns}, {"many", gtMany, goTypePatterns},
	}},
	{"frame", frameSize, []field{
		{"index and flags", frIndex, 8}, u64("slot", frSlot), u64("site", frSite), {"args", frArgs, 6 * 8},
		u64("res", frRes), u64("res2", frRes2), u64("addr", frAddr), u64("size", frSize),
	}},
	{"header", headerSize, []field{
		u64("head", hdHead), u64("wakeAt", hdWakeAt), u32("alive", hdAlive), u32("stalled", hdStalled),
		{"robust", hdRobust, int(unsafe.Sizeof(robustNode{}))}, u64("tail", hdTail), u32("sleep", hdSleep),
		u32("drained", hdDrained), u32("waiting", hdWaiting), u64("count", hdCount), u64("live", hdLive),
		u64("blocks", hdBlocks), u64("lost", hdLost), u64("lostSt", hdLostSt), u64("noSlot", hdNoSlot),
		u64("full", hdFull), u64("miss", hdMiss), u64("walks", hdWalks), u64("new", hdNew), u64("lostPy", hdLostPy),
		{"threads", hdThreads, 4 * maxThreadCells},
	}},
	{"memo entry", memoEntry, []field{
		u64("tag", meTag), u64("sum", meSum), u32("count", meCount), u32("stack", meStack), {"fork", meFork, forkCheck}, {"its check", meFork + forkCheck, 2}, {"its word", meFork + forkWord, 4},
		{"offsets", meOffset, 2 * memoWords},
		{"checks", meCheck, 2 * memoChecks},
	}},
	{"scratch", scratchSize, []field{
		u64("rbx", xRBX), u64("pairs", xPairs), {"pcs", xPCs, 8 * maxDepth}, {"cfas", xCFAs, 8 * maxDepth},
	}},
	{"module", modSize, []field{
		u64("low", moLow), u64("len", moLen), u64("rows", moRows), u64("offs", moOffs), u64("ids", moIDs),
	}},
	{"memory file", fileSize, []field{
		{"header", fileHeader, headerSize}, {"stacks", fileStacks, 8 << stackBits}, {"caches", fileCaches, numCaches * cacheSize},
		{"memos", fileMemos, numMemos * memoSize}, {"verdicts", fileVerdicts, 1 << stackBits},
		{"slots", fileSlots, numSlots * slotSize}, {"marks", fileMarks, marksSize},
		{"pairs", filePairs, 8 << pairBits}, {"seen", fileSeen, 8 << seenBits}, {"codes", fileCodes, 8 << codeBits}, {"rules", fileRules, 8 << 16}, {"types", fileTypes, goTypeEntry << goTypeBits}, {"modules", fileMods, numMods * modsSize},
		{"tables", fileTables, tablesSize}, {"ring", fileRing, ringSize},
	}},
	{"private memory", privateSize, []field{
		{"state", 0, stateSize}, {"scratch", privateScratch, numSlots * scratchSize},
	}},
}

func TestFieldsDoNotOverlap(t *testing.T) {
	for _, s := range structures {
		fields := slices.Clone(s.fields)
		slices.SortFunc(fields, func(a, b field) int { return a.at - b.at })
		end, before := 0, "its begin"
		for _, f := range fields {
			if f.at < end {
				t.Errorf("%s: %s at %d overlaps %s, which ends at %d", s.name, f.name, f.at, before, end)
			}
			if align := min(f.size, 8); f.at%align != 0 {
				t.Errorf("%s: %s at %d is not aligned", s.name, f.name, f.at)
			}
			end, before = f.at+f.size, f.name
		}
		if end > s.size {
			t.Errorf("%s: %s ends at %d of %d", s.name, before, end, s.size)
		}
	}
}

// What the core indexes with shifts or multiplies, and what mmap and mprotect want.
func TestSizes(t *testing.T) {
	const page = 4096
	for _, c := range []struct {
		what      string
		value, of int
	}{
		{"stacks", fileStacks, page}, {"caches", fileCaches, page}, {"memos", fileMemos, page}, {"verdicts", fileVerdicts, page},
		{"slots", fileSlots, page}, {"marks", fileMarks, page}, {"rules: what comes before may be written", fileRules, page}, {"modules", fileMods, 8},
		{"tables", fileTables, 8}, {"ring", fileRing, page}, {"the file", fileSize, page}, {"scratch", scratchSize, page},
		{"private memory", privateSize, page}, {"private scratch", privateScratch, page}, {"the core's room", maxCore, page},
		{"an island", islandSize, page}, {"a memo entry", memoEntry, 8}, {"the words of a wide call", wideSize, 16},
		{"a record", recordSize, 16}, {"a long record", longRecord, 16},
	} {
		if c.value%c.of != 0 {
			t.Errorf("%s at or of %d bytes, which is no multiple of %d", c.what, c.value, c.of)
		}
	}
	if ringSize&(ringSize-1) != 0 {
		t.Error("the ring's size is no power of two")
	}
	// The core calls the original function with the stack aligned as the ABI
	// wants it: the return address at 8 modulo 16, as at its own entry.
	if (frameSize+8)%16 != 0 || wideSize%16 != 0 {
		t.Errorf("frame of %d bytes, wide of %d: the original would run with its stack out of line", frameSize, wideSize)
	}
	if stackTry > 1<<stackFew || stackTry&(stackTry-1) != 0 || noStack-1 < 1<<stackBits {
		t.Error("numbers of stacks and the two that are none overlap")
	}
	if maxDepth > 1<<12-1 {
		t.Errorf("stacks of %d frames do not fit the 12 bits of a record", maxDepth)
	}
	// A stack without room for another pair, or with none kept, is one of too many words.
	if pairsEnd-1 <= memoLong {
		t.Errorf("room for %d frames and pairs, the memo takes %d words", pairsEnd, memoLong)
	}
	if more, less := uint64(memoMore), uint64(memoLess); more*less != 1 {
		t.Errorf("memoMore times memoLess is %#x", more*less)
	}
	// The longest record must fit the ring with room to spare, or its thread
	// would wait for room that there never is.
	if longest := 16 + 8*maxDepth; longest > ringSize/16 {
		t.Errorf("a record of %d bytes", longest)
	}
}

// A record's first word: what the parts of the program put there.
func TestHeadBits(t *testing.T) {
	parts := []struct {
		name       string
		low, width int
	}{
		{"type", 0, 4}, {"long", 4, 1}, {"inside", 5, 1}, {"failed", 6, 1}, {"bare", 7, 1},
		{"site", siteShift, 12}, {"tid", tidShift, 22}, {"stack", stackShift, 22},
	}
	end := 0
	for _, p := range parts {
		if p.low != end {
			t.Errorf("%s begins at bit %d, want %d", p.name, p.low, end)
		}
		end = p.low + p.width
	}
	if end != 64 {
		t.Errorf("%d bits", end)
	}
	for i, flag := range []uint64{flagLong, flagInside, flagFailed, flagBare} {
		if flag != 1<<(4+i) {
			t.Errorf("flag %d is %#x", i, flag)
		}
	}
	if maxSites >= 1<<(tidShift-siteShift) || maxSites < 0 {
		t.Errorf("%d sites", maxSites)
	}
	const pidMax = 1 << 22 // PID_MAX_LIMIT, linux/threads.h
	if pidMax > 1<<(stackShift-tidShift) {
		t.Error("a TID does not fit")
	}
	for n, c := range []uint64{recAlloc, recFree, recBegin, recAbandon, recStack, recPad, recNumber} {
		if c == 0 || c&^typeMask != 0 {
			t.Errorf("type %d is %#x", n, c)
		}
	}
}

func TestRecordLength(t *testing.T) {
	for _, c := range []struct{ head, want uint64 }{
		{recAlloc, 32}, {recFree, 32}, {recBegin | flagBare, 32}, {recAbandon, 32}, {recAlloc | flagLong | flagInside, 48},
		{recStack, 16}, {recStack | 1<<countShift, 32}, {recStack | 2<<countShift, 32}, {recStack | 3<<countShift, 48},
		{recStack | 4095<<countShift | endDepth<<reasonShift | 7<<stackShift, 16 + 8*4096},
		{recPad | 1<<countShift, 16}, {recPad | 2049<<countShift, 2049 * 16},
	} {
		if got := (&shared{size: ringSize}).recordLength(c.head); got != c.want {
			t.Errorf("length of %#x = %d, want %d", c.head, got, c.want)
		}
	}
}

// The header fields that the producers write and those that the consumer does
// lie in different cache lines, or each would slow the other down.
func TestHeaderLines(t *testing.T) {
	const line = 64
	if hdHead/line == hdTail/line {
		t.Error("head and tail share a cache line")
	}
	if hdTail/line != hdSleep/line {
		t.Error(fmt.Sprint("the consumer writes two lines: ", hdTail, hdSleep))
	}
}

// The memo's sum changes when one word of a stack does, and when two change places or
// move by the same distance: addresses are less than 2^47 apart, so that for those two
// factors would have to differ by, or add up to, a multiple of 2^18. Of words in different
// entries, which are more, that is asked of addresses in one module: 2^32.
func TestFactors(t *testing.T) {
	b := factors()
	if len(b) != 8*memoWords {
		t.Fatalf("%d bytes", len(b))
	}
	all := make([]uint64, memoLong) // of a chain of entries
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(b[8*(i%memoWords):])
		for range i / memoWords {
			all[i] *= memoLess
		}
		for k, g := range all[:i] {
			if f := all[i]; (f-g)%(1<<32) == 0 || (f+g)%(1<<32) == 0 {
				t.Errorf("factors %d and %d are %#x and %#x", k, i, g, f)
			}
		}
	}
	for i := range memoWords {
		f := binary.LittleEndian.Uint64(b[8*i:])
		if f%2 == 0 {
			t.Errorf("factor %d is even", i)
		}
		for k := range i {
			g := binary.LittleEndian.Uint64(b[8*k:])
			if (f-g)%(1<<18) == 0 || (f+g)%(1<<18) == 0 {
				t.Errorf("factors %d and %d are %#x and %#x", k, i, g, f)
			}
		}
	}
}

// A plain event's call is copied as one word, which has its fields where an event has them.
func TestCallOfPlainEvents(t *testing.T) {
	e, word := reflect.TypeFor[capture.Event](), reflect.TypeFor[ofCall]()
	first, _ := e.FieldByName("Func")
	for _, names := range [][2]string{{"Func", "function"}, {"Kind", "kind"}, {"Failed", "failed"}, {"Abandoned", "abandoned"}} {
		there, ok := e.FieldByName(names[0])
		here, found := word.FieldByName(names[1])
		if !ok || !found || there.Offset-first.Offset != here.Offset || there.Type != here.Type {
			t.Errorf("%s at %d, %s at %d", names[0], there.Offset-first.Offset, names[1], here.Offset)
		}
	}
}
