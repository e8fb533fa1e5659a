package heaps

import (
	"slices"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/memory"
	"hdb/symbols"
	"hdb/symbols/elf"
)

// unused adds what a thread can no longer use where it is: roots lead only to what the program can still come to. exits
// are the functions by which programs end.
//
// At the first instruction of a function the red zone below the stack pointer is not in use: the function has not
// written there yet, and its caller keeps nothing there across the call (System V ABI, AMD64, 3.2.2). Of the registers
// that a caller does not expect back only those with arguments count (3.2.3); but within a module the compiler may know
// that a function spares a register, and have its caller use it (gcc's -fipa-ra). So they are left out only where the
// call has come from another module, or does not return.
//
// Where a call has just returned, as at stops at allocations, the red zone is not in use either: a function that calls others
// has none.
func (h *Heap) unused(t *inferior.Thread, regs *inferior.Registers, out *memory.Thread, exits []addr.Run) {
	pc, sp := regs.PC(), regs.SP()
	obj, bias := h.target.Names.ObjectAt(addr.PC(pc), 0)
	if obj == nil {
		return
	}
	sym, off, ok := obj.Symtab.SymbolAt(pc.File(bias))
	leaving := slices.Contains(exits, pc) || ok && slices.Contains(lastFunctions, sym.Name)
	entry := leaving || ok && off == 0 && isEntry(sym)
	if !entry && !h.returned(pc, sp) {
		return
	}
	out.Unused = (sp - min(addr.RedZone, sp)).To(sp)
	if !entry {
		return
	}
	switch caller := h.callerOf(sp); {
	case leaving:
		out.Registers = slices.DeleteFunc(out.Registers, func(r memory.Register) bool { return slices.Contains(callerSaved, r.Name) })
		if low := h.leavingFrames(t, obj); low > sp {
			out.Unused.End = low
		}
	case caller != nil && caller != obj && callsAsC(obj, sym.Name):
		out.Registers = slices.DeleteFunc(out.Registers, func(r memory.Register) bool { return slices.Contains(dead(sym.Name), r.Name) })
	}
}

// dead are the registers that have nothing for a function that is called.
func dead(function string) []string {
	n, ok := pointerArguments[function]
	if !ok {
		return scratch
	}
	return slices.DeleteFunc(slices.Clone(callerSaved), func(r string) bool { return slices.Contains(argumentRegisters[:n], r) })
}

// argumentRegisters are those of pointers and integers in the order of the arguments.
var argumentRegisters = []string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}

// pointerArguments are functions of the C library and of C++ (malloc(3), new(3)) and how many of their arguments, from the first on,
// may be pointers.
var pointerArguments = map[string]int{
	"malloc": 0, "calloc": 0, "aligned_alloc": 0, "memalign": 0, "valloc": 0, "pvalloc": 0, "_Znwm": 0, "_Znam": 0,
	"free": 1, "cfree": 1, "realloc": 1, "reallocarray": 1, "posix_memalign": 1, "malloc_usable_size": 1, "_ZdlPv": 1, "_ZdaPv": 1, "_ZdlPvm": 1, "_ZdaPvm": 1,
}

// callerSaved are the general registers that a call of C may change. The functions that end a program take an int, and do not return.
var callerSaved = []string{"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"}

// lastFunctions are those of leavingFunctions that make nothing but the system call: no instruction of theirs needs what the program has.
var lastFunctions = []string{"_exit", "_Exit"}

// scratch are those of callerSaved that have no pointer for the function that is called: rax has a number of vector registers,
// r11 is the linker's. r10 may have the frame that a nested function belongs to.
var scratch = []string{"rax", "r11"}

// isEntry reports whether a symbol begins where a function is called. The part of a function that is seldom run has a symbol of
// its own, which is jumped to.
func isEntry(sym symbols.Sym) bool {
	return sym.IsCode() && sym.Type != elf.TypeNone && !strings.Contains(sym.Name, ".cold")
}

// callsAsC reports whether a function takes no pointer in rax, as those of Go and OCaml may (their first argument), and those of
// Swift (where the result goes).
func callsAsC(obj *symbols.Object, name string) bool {
	return !obj.File.Header().Go && !strings.HasPrefix(name, "caml") && !strings.HasPrefix(name, "$s")
}

// returned reports whether a thread is behind a call that has returned: the address that it returned to is still
// below the stack pointer, and the instruction before is a call.
func (h *Heap) returned(pc, sp addr.Run) bool {
	if to, err := h.target.ReadPointer(sp - 8); err != nil || to != pc {
		return false
	}
	var code [7]byte
	if n, _ := h.target.Image.ReadAt(code[:], int64(pc)-int64(len(code))); n < len(code) {
		return false
	}
	if code[len(code)-5] == 0xe8 { // call rel32
		return true
	}
	for _, length := range []int{2, 3, 6, 7} { // call by a register or memory: FF /2
		if at := len(code) - length; code[at] == 0xff && code[at+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}

// callerOf is the file of the code that a function returns to, which is at its first instruction; nil if unknown.
func (h *Heap) callerOf(sp addr.Run) *symbols.Object {
	to, err := h.target.ReadPointer(sp)
	if err != nil {
		return nil
	}
	obj, _ := h.target.Names.ObjectAt(addr.Return(to), 0)
	return obj
}

// maxLeavingFrames are between exit and _exit: glibc's __run_exit_handlers, which has no name in a stripped library.
const maxLeavingFrames = 4

// leavingFrames is where the frames end of a C library that has run what atexit(3) was given and calls _exit, 0 if it does not. What
// they have left unwritten is of functions that have returned.
func (h *Heap) leavingFrames(t *inferior.Thread, libc *symbols.Object) addr.Run {
	raw, err := h.space.walker.Raw(t, maxLeavingFrames, addr.Code{})
	if err != nil {
		return 0
	}
	for i, f := range raw.Frames {
		obj, bias := h.target.Names.ObjectAt(f.PC, 0)
		if obj != libc || f.How.Guess() {
			return 0
		}
		if sym, _, ok := obj.Symtab.SymbolAt(f.PC.Lookup().File(bias)); i > 0 && ok && sym.Name == "exit" {
			return f.CFA
		}
	}
	return 0
}
