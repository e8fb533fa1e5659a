package symbols

import (
	"regexp"

	"hdb/internal/addr"
)

// FindFunctions finds the places where a function of that name is entered.
func (o *Object) FindFunctions(name string) []Function { return nil }

// MatchFunctions lists the functions whose name matches re, inlined copies left out.
func (o *Object) MatchFunctions(re *regexp.Regexp) []Function { return nil }

// FunctionAt is the (not inlined) function that contains a.
func (o *Object) FunctionAt(a addr.File) (Function, bool) { return Function{}, false }

// FindLine finds where code of a line begins.
func (o *Object) FindLine(file string, line int) []Location { return nil }

// SourceFiles lists the source files of the line tables, sorted.
func (o *Object) SourceFiles() []string { return nil }

// LineEntries lists the rows of the line tables in [low, high).
func (o *Object) LineEntries(low, high addr.File) []LineEntry { return nil }

// LineBlock describes the line at a for stepping.
func (o *Object) LineBlock(a addr.File) (LineBlock, bool) { return LineBlock{}, false }
