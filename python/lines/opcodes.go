package lines

// opcodes is what is known of the instructions of one minor version: Lib/opcode.py, from 3.11
// on also Include/internal/pycore_opcode.h and pycore_opcode_metadata.h. A text is a list of
// opcodes. The forms that the interpreter puts in the place of an instruction while it runs
// are among them.
type opcodes struct {
	caches   string // by opcode, a hexadecimal digit: the words of cache behind the instruction; 0 past its end
	forward  string // jumps, counted from the instruction behind
	backward string
	absolute string // jumps, counted from the first instruction
	setup    string // jumps, counted from the instruction behind, that an exception takes
	loop     string // of forward: FOR_ITER, which continues behind the words that end a loop
	skipped  int    // how many these are
	double   string // run the instruction behind them as well
	ends     string // end a loop or an await, and begin no line
	unit     int    // bytes that a jump's argument counts
	extended byte   // EXTENDED_ARG
	resume   byte   // RESUME, 0 without
	send     byte   // SEND, 0 without
	marker   byte   // GEN_START, 0 without
	finally  byte   // CALL_FINALLY, 0 without
	away     string // never continue to the instruction behind: returns, jumps without a condition, raise
}

// known are the opcodes by minor version.
var known = map[int]*opcodes{
	8: {
		away:     "\x6e\x71\x53\x82\xa2",
		forward:  "\x5d\x6e\xa2",
		absolute: "\x6f\x70\x71\x72\x73",
		setup:    "\x7a\x8f\x9a",
		unit:     1, extended: 144, finally: 162,
	},
	9: {
		away:     "\x6e\x71\x53\x82\x30",
		forward:  "\x5d\x6e",
		absolute: "\x6f\x70\x71\x72\x73\x79",
		setup:    "\x7a\x8f\x9a",
		unit:     1, extended: 144,
	},
	10: {
		away:     "\x6e\x71\x53\x82\x77",
		forward:  "\x5d\x6e",
		absolute: "\x6f\x70\x71\x72\x73\x79",
		setup:    "\x7a\x8f\x9a",
		unit:     2, extended: 144, marker: 129,
	},
	11: {
		away:     "\x6e\x8c\x26\x86\x53\x82\x77",
		caches:   "00011111100001101444444444222200000000044444000550000005aaaa10aa111100001100111111000000000010040000000000420000010050000110000100000000000001010000000004400044a00000101114000001111",
		forward:  "\x5d\x6e\x6f\x70\x72\x73\x7b\x80\x81",
		backward: "\x26\x86\x8c\xad\xae\xaf\xb0",
		double:   "\x2c\x2d\x2e\xa1\xa7",
		unit:     2, extended: 144, resume: 151, send: 123,
	},
	12: {
		away:     "\x6e\x8c\x86\x53\x79\x82\x77",
		caches:   "0000001110100110101111133100330000300033333333333000000031111011111100909900999999900000000011040000000000910004440040000011000000000000000001000000400004000001110000111003",
		forward:  "\x3e\x3f\x40\x41\x5d\x6e\x72\x73\x7b\x80\x81\xa8",
		backward: "\x86\x8c",
		loop:     "\x3e\x3f\x40\x41\x5d", skipped: 1,
		double: "\x54\x56\x58\x9a\x9e",
		ends:   "\x04\x05\x36",
		unit:   2, extended: 144, resume: 151, send: 123,
	},
	13: {
		away:     "\x4f\x4d\x4e\x24\x67\x65\x66",
		caches:   "0001010000000000000000000000000000000001300001000000030000110000000000001000010000900000000401000111100010004000000001000000000000000000000000000000001111111111113333333333333333333311111111199999999999944110144411333333111",
		forward:  "\x48\x4f\x61\x62\x63\x64\x68\xbb\xbc\xbd\xbe\xd0",
		backward: "\x4d\x4e",
		loop:     "\x48\xbb\xbc\xbd\xbe", skipped: 2,
		ends: "\x0a\x0b\x0c",
		unit: 2, extended: 71, resume: 149, send: 104,
	},
}
