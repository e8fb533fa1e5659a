package names

import (
	"strings"

	"hdb/symbols/dwarf"
)

// MainFrame is the index of the program's main function in a stack, -1 without: the outermost one
// of that name whose caller is code that starts programs. Rust's is inner than the one of C that
// its library has.
func MainFrame(frames []Frame) int {
	found := -1
	for i := len(frames) - 2; i >= 0; i-- {
		f, by := &frames[i], &frames[i+1]
		switch {
		case f.Inlined || f.CFA == by.CFA && by.CFA != 0:
		case f.isRustMain(by):
			return i
		case found < 0 && f.isMain(by):
			found = i
		}
	}
	return found
}

// isMain tells a main function by its name and its caller.
func (f *Frame) isMain(by *Frame) bool {
	return f.Function == "main" && (by.Module != f.Module || strings.HasPrefix(by.Function, "__libc_start") ||
		strings.HasPrefix(by.Function, "libc_start") || strings.HasPrefix(by.Function, "_start"))
}

func (f *Frame) isRustMain(by *Frame) bool {
	crate, name, ok := strings.Cut(f.Function, "::")
	return ok && f.Language == dwarf.LangRust && crate != "std" && crate != "core" && name == "main" &&
		(strings.HasPrefix(by.Function, "core::ops::function::") || strings.HasPrefix(by.Function, "std::"))
}

// ToMain is the stack without the callers of the program's main function.
func (st Stack) ToMain() Stack {
	if i := MainFrame(st.Frames); i >= 0 {
		st.whole = st.Frames
		st.Frames, st.Truncated, st.Main = st.Frames[:i+1], "", true
	}
	return st
}

// Whole is all frames, those that ToMain has left out as well: values of main's
// arguments may be known from its caller.
func (st Stack) Whole() []Frame {
	if st.Main {
		return st.whole
	}
	return st.Frames
}
