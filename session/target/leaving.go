package target

import (
	"slices"

	"hdb/internal/addr"
)

// leavingFunctions are those of C libraries by which programs end: what main's caller calls when main has returned, too.
var leavingFunctions = []string{"exit", "quick_exit", "_exit", "_Exit"}

// goExit are the names of the function by which a Go runtime ends the process: in the symbol table, and in Go's own table, which
// stripped programs keep.
var goExit = []string{"runtime.exit", "runtime.exit.abi0"}

// Leaving are the entries of leavingFunctions and goExit in all modules, ascending.
func (c *Target) Leaving() (all []addr.Run) {
	for _, m := range c.Names.Images() {
		for _, name := range slices.Concat(leavingFunctions, goExit) {
			if sym, ok := m.Object.Symtab.Symbol(name); ok && sym.Defined && sym.IsCode() {
				all = append(all, sym.Addr.Run(m.Bias))
			}
		}
		for _, f := range m.Object.GoFunctions(goExit) {
			all = append(all, f.Low.Run(m.Bias))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
