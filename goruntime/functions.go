package goruntime

import (
	"slices"
	"strings"
)

// GoExit is what goroutines return to. Behind it stacks have the go statement that made the goroutine.
const (
	GoExit     = "runtime.goexit"
	GoExitABI0 = GoExit + ".abi0" // the linker's name of it, with symbols of assembly code
)

// Internal tells functions of the runtime by their names: those that lead to the allocator are
// nobody's who asks for memory.
func Internal(function string) bool {
	return begins(function, "runtime.", "internal/runtime/")
}

// Waits tells functions in which goroutines wait for others, or for the system, by their names.
func Waits(function string) bool {
	return begins(function, "runtime.", "internal/", "sync.", "syscall.", "time.Sleep")
}

// Serves tells the innermost function of a stack that has allocated from a Go runtime: its own, or one
// that it has for another package (internal/bytealg.MakeNoZero, reflect.unsafe_New).
func Serves(function string) bool { return begins(function, "runtime.", "internal/", "reflect.") }

// RefusesCalls tells functions from whose code no other one is called by a debugger: the runtime's
// (runtime/debugcall.go, debugCallCheck), and those of the packages that it is made of.
func RefusesCalls(function string) bool { return begins(function, "runtime.", "internal/") }

func begins(function string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(function, p) })
}

// Allocates tells functions of the runtime that stand for an expression that allocates, in whichever function
// that is: new, make, append, + of strings, conversions.
func Allocates(function string) bool {
	rest, ok := strings.CutPrefix(function, "runtime.")
	if !ok {
		return false
	}
	return begins(rest, allocates...)
}

// allocates are the beginnings of their names: makeslice64, convTstring, concatstring3.
var allocates = []string{"mallocgc", "newobject", "newarray", "makeslice", "makechan", "makemap", "growslice", "rawstring", "rawbyteslice", "rawruneslice",
	"concatstring", "concatbyte", "slicebytetostring", "slicerunetostring", "stringtoslice", "intstring", "convT"}

// Helper tells a function of Go that is no code of the user's or a library's, which the
// compiler or the runtime has put between two others, by its name (runtime/traceback.go,
// elideWrapperCalling; cmd/internal/objabi/funcid.go).
func Helper(function string) bool {
	if rest, ok := strings.CutPrefix(function, "runtime."); ok {
		return rest == "reflectcall" || rest == "deferCallSave" || strings.HasPrefix(rest, "call") && isNumber(rest[len("call"):])
	}
	if function == "reflect.makeFuncStub" || function == "reflect.methodValueCall" || strings.HasSuffix(function, "-fm") {
		return true
	}
	_, last, _ := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	for _, made := range []string{"gowrap", "deferwrap"} {
		if number, ok := strings.CutPrefix(last, made); ok && isNumber(number) {
			return true
		}
	}
	return false
}

// isNumber tells a number, as in the name runtime.call16.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
