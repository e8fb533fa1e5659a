package graph

// Heuristics is a set of reasons for which a pointer into the interior of a block counts as one to its
// start. They are memcheck's (mc_leakcheck.c, --leak-check-heuristics), which uses all by default.
type Heuristics uint8

const (
	// StdString: to the characters behind length, capacity and count of references (libstdc++'s old std::string).
	StdString Heuristics = 1 << iota
	// Length64: behind a first word that is the number of the other bytes (sqlite).
	Length64
	// NewArray: behind a first word that is a count of elements that the rest can be divided into: new T[n] of
	// a T with a destructor. n may be 0, which points one past the end (as LeakSanitizer has it, not memcheck).
	NewArray
	// MultipleInheritance: to a word that points to a table of virtual functions, in a block whose first word
	// does, too. It needs Options.Files and Options.Code.
	MultipleInheritance
)
