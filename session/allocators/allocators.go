// Package allocators finds the functions that allocate in a program: those of the catalogue, and the user's own.
package allocators

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
)

// A UserFunction is a function that alloc add named, with what was found of it.
type UserFunction struct {
	breakpoints.Function
	Places   []breakpoints.Place // entries of its code; none: no module has it yet
	Meant    string              // the function that was most likely meant, of one that nothing has; "" unknown
	Warnings []string            // which of its calls are not seen, and what is doubtful
}

// Allocators are the allocator functions: those of the catalogue, and the user's own.
type Allocators struct {
	target *target.Target
	loc    *view.Locations
	Fns    []breakpoints.Function           // the user's
	users  map[string]*userFunction         // the same by Symbol
	Follow func(breakpoints.Function) error // has a new one followed in the process
}

// New are the allocator functions of the catalogue.
func New(c *target.Target, loc *view.Locations) *Allocators {
	return &Allocators{target: c, loc: loc}
}

// userFunction is what is kept of one.
type userFunction struct {
	pending bool // no module has had it
	deep    bool // it is looked for in all debug information: no symbol table has it
	found   map[*symbols.Object][]symbols.Function
}

// Add makes a function of the user's program an allocator: "FUNC
// size=ARG2 ptr=RET". FUNC is resolved as break's location is, and once more in each
// library that is loaded.
func (al *Allocators) Add(text string) (*UserFunction, error) {
	fn, err := breakpoints.ParseFunction(text)
	if err != nil {
		return nil, err
	}
	if fn.Symbol, err = al.fixed(fn.Symbol); err != nil {
		return nil, err
	}
	fn.Name = al.name(fn.Symbol)
	al.Fns = append(slices.DeleteFunc(al.Fns, func(f breakpoints.Function) bool { return f.Symbol == fn.Symbol }), fn)
	if al.users == nil {
		al.users = map[string]*userFunction{}
	}
	al.users[fn.Symbol] = &userFunction{}
	u := al.place(fn)
	al.users[fn.Symbol].pending = len(u.Places) == 0
	if al.target.Proc == nil {
		return u, nil
	}
	return u, al.Follow(fn)
}

// fixed is a user function's location for good: the one that a register holds is the address of
// now. It is an error if it can never be a function's.
func (al *Allocators) fixed(location string) (string, error) {
	switch {
	case len(location) > 1 && location[0] == '/', strings.Trim(location, "+-0123456789") == "":
		return "", fmt.Errorf("%s: a function is needed: a name, FILE:NAME, *ADDRESS or MODULE+0xOFFSET", location)
	case location[0] != '*':
		if _, rest, ok := names.CutFile(location); ok && view.IsDigits(rest) {
			return "", fmt.Errorf("%s is a line: give the function's name, or *ADDRESS of its entry", location)
		}
		return location, nil
	}
	at, err := al.loc.Mem.Address(location[1:])
	if err != nil {
		if strings.ContainsAny(location[1:2], "$0123456789") {
			return "", err
		}
		return location, nil // a name that a library may bring
	}
	if err := al.isEntry(at, location); err != nil {
		return "", fmt.Errorf("%s: %w", location, err)
	}
	if strings.Contains(location, "$") {
		location = fmt.Sprintf("*%v", at)
	}
	return location, nil
}

// unplaced reports whether it is not known yet which code of a module has an address
// as typed: the module is put somewhere when the program is run.
func (al *Allocators) unplaced(m names.Image, location string) bool {
	segments := m.Object.File.Segments()
	return al.target.Proc == nil && view.IsDigits(location[1:2]) && len(segments) > 0 && segments[0].Addr == 0
}

// isEntry is an error if a function is known that a lies inside of.
func (al *Allocators) isEntry(a addr.Run, location string) error {
	for _, m := range al.target.Names.Images() {
		if !al.target.Names.Covers(m, a) || al.unplaced(m, location) {
			continue
		}
		if fn, ok := al.target.Names.Symbols.FunctionAround(m, a); ok && fn.Low != a.File(m.Bias) {
			name := fn.Name
			if name == "" {
				name = "a function"
			}
			return fmt.Errorf("inside %s, which begins at *%v", name, fn.Low.Run(m.Bias))
		}
	}
	return nil
}

// name is what the calls of a user's function are called: the location as typed,
// and what is known of an address.
func (al *Allocators) name(location string) string {
	if location[0] != '*' {
		return location
	}
	if a, err := al.loc.Mem.Address(location[1:]); err == nil {
		for _, m := range al.target.Names.Images() {
			if !al.target.Names.Covers(m, a) || al.unplaced(m, location) {
				continue
			}
			if fn, ok := m.Object.FunctionAt(a.File(m.Bias)); ok && fn.Name != "" {
				return fn.Name
			}
			if al.target.Proc != nil {
				return fmt.Sprintf("%s+%#x", filepath.Base(m.Name), uint64(a.File(m.Bias)))
			}
		}
	}
	return location
}

// functionsIn are the functions of a module that a user's function is, with those that
// were inlined.
func (al *Allocators) functionsIn(m names.Image, program bool, location string) []symbols.Function {
	if location[0] == '*' {
		a, err := al.loc.Mem.Address(location[1:])
		if err != nil || !al.target.Names.Covers(m, a) || al.unplaced(m, location) {
			return nil
		}
		return al.entryAt(m, a)
	}
	if name, digits, ok := strings.Cut(location, "+0x"); ok && name == filepath.Base(m.Name) {
		at, err := strconv.ParseUint(digits, 16, 64)
		if err != nil {
			return nil
		}
		return al.entryAt(m, addr.File(at).Run(m.Bias))
	}
	u := al.users[location]
	if !program && !u.deep && !strings.ContainsAny(location, ":(<.") {
		if _, ok := m.Object.Symtab.Symbol(location); !ok {
			return nil
		}
	}
	if found, ok := u.found[m.Object]; ok {
		return found
	}
	if u.found == nil {
		u.found = map[*symbols.Object][]symbols.Function{}
	}
	u.found[m.Object] = m.Object.FindFunctions(location)
	return u.found[m.Object]
}

// entryAt is the function that begins at an address.
func (al *Allocators) entryAt(m names.Image, a addr.Run) []symbols.Function {
	fn, ok := al.target.Names.Symbols.FunctionAround(m, a)
	switch {
	case ok && fn.Low != a.File(m.Bias), !names.Executable(m.Object, a.File(m.Bias)):
		return nil
	case !ok:
		fn = symbols.Function{Low: a.File(m.Bias), High: a.File(m.Bias)}
	}
	return []symbols.Function{fn}
}

// isEntryOf tells the entries that calls of a function come to from its other parts.
func isEntryOf(m names.Image, fn symbols.Function, location string) bool {
	for _, part := range []string{".cold", ".part."} { // where it continues
		if strings.Contains(fn.Linkage, part) && !strings.Contains(location, part) {
			return false
		}
	}
	return !fn.Inlined && names.Executable(m.Object, fn.Low)
}

// place finds a user's function in what is loaded.
func (al *Allocators) place(fn breakpoints.Function) *UserFunction {
	u := &UserFunction{Function: fn}
	known := al.users[fn.Symbol]
	known.deep = false
	inlined := al.find(u)
	if len(u.Places) == 0 && inlined == 0 && fn.Symbol[0] != '*' {
		known.deep = true
		inlined = al.find(u)
	}
	switch {
	case inlined == 0:
	case len(u.Places) == 0:
		u.warn("%s has no code of its own: its calls are inlined in %s, and not recorded; compile it with __attribute__((noinline))", fn.Name, units.Count(inlined, "place"))
	default:
		u.warn("%s is also inlined in %s: those calls are not recorded; compile it with __attribute__((noinline))", fn.Name, units.Count(inlined, "place"))
	}
	if len(u.Places) == 0 && inlined == 0 {
		u.Meant = al.loc.Meant(fn.Symbol)
	}
	return u
}

func (u *UserFunction) warn(format string, args ...any) {
	u.Warnings = append(u.Warnings, fmt.Sprintf(format, args...))
}

// find fills in the places of a user's function. It returns the number of copies
// that were inlined.
func (al *Allocators) find(u *UserFunction) (inlined int) {
	var found []names.Place
	for i, m := range al.target.Names.Images() {
		for _, f := range al.functionsIn(m, i == 0, u.Symbol) {
			if f.Inlined {
				inlined++
			}
			if !isEntryOf(m, f, u.Symbol) {
				continue
			}
			place := names.FunctionPlace(m, f)
			place.Addr = f.Low.Run(m.Bias)
			found = append(found, place)
			switch {
			case f.IFunc:
				u.warn("%s in %s is chosen at run time by an IFUNC resolver: its calls cannot be followed", f.Name, filepath.Base(m.Name))
			case strings.Contains(f.Linkage, ".isra.") || strings.Contains(f.Linkage, ".constprop."):
				u.warn("%s in %s: the compiler changed its arguments: check which ones ARG1 to ARG6 are", f.Linkage, filepath.Base(m.Name))
			}
		}
	}
	u.Places = view.Places(names.UniquePlaces(found))
	return inlined
}

// defined are the entries of users' functions with those names in a module.
func (al *Allocators) defined(mod inferior.Module, obj *symbols.Object, wanted []string) []breakpoints.Symbol {
	m := names.Image{Object: obj, Bias: mod.Bias, Name: mod.Name, Path: mod.Path}
	var out []breakpoints.Symbol
	for _, name := range wanted {
		if al.users[name] == nil {
			continue
		}
		for _, f := range al.functionsIn(m, al.target.Names.Program != nil && obj == al.target.Names.Program.Object, name) {
			if isEntryOf(m, f, name) {
				out = append(out, breakpoints.Symbol{Name: name, Addr: f.Low.Run(m.Bias), Size: uint64(f.High - f.Low), IFunc: f.IFunc})
			}
		}
	}
	return out
}

// PlacePending says which of the users' functions that nothing had are there now.
func (al *Allocators) PlacePending() {
	for _, fn := range al.Fns {
		known := al.users[fn.Symbol]
		if !known.pending {
			continue
		}
		u := al.place(fn)
		if len(u.Places) == 0 {
			continue
		}
		known.pending = false
		al.target.Notify("%s is in place: %s", fn.Name, view.PlaceText(u.Places[0]))
		for _, w := range u.Warnings {
			al.target.Notify("%s", w)
		}
	}
}

// Pending are the users' functions that no module has had.
func (al *Allocators) Pending() []*UserFunction {
	var out []*UserFunction
	for _, fn := range al.Fns {
		if al.users[fn.Symbol].pending {
			out = append(out, al.place(fn))
		}
	}
	return out
}

// Function is the allocator function that an event names.
func (al *Allocators) Function(name string) (breakpoints.Function, bool) {
	for _, f := range al.Fns {
		if f.Name == name {
			return f, true
		}
	}
	return breakpoints.Named(name)
}

// Extra are those that the catalogue has not: Python's, if they are followed, and the
// user's own.
func (al *Allocators) Extra() []breakpoints.Function {
	if al.target.Settings.PythonAllocators {
		return slices.Concat(breakpoints.PythonFunctions(), al.Fns)
	}
	return al.Fns
}

// All are the catalogue, Python's and the user's own.
func (al *Allocators) All() []breakpoints.Function {
	return append(breakpoints.Catalogue(), al.Extra()...)
}
