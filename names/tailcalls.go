package names

import (
	"path/filepath"
	"slices"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"
)

// WithTailCalls adds the functions that left a stack by a tail call: they called, with a
// jump, the function whose frame is there in their place. They are deduced from the call
// sites of DWARF, as gdb does: the call in the outer frame names a function that is not
// the one called, and exactly one chain of tail calls leads from there to it. Of several
// chains only the calls at their begin and end that all of them share are added. A
// deduced frame has no CFA, no registers and the number of the frame that was called, -1
// if that has no frame; it is only to be shown. called are the symbols of the function that the innermost frame
// called, one of which it is, when its own frame is not there: none if the innermost frame
// called nothing.
func (r *Resolver) WithTailCalls(frames []Frame, called []string) []Frame {
	x := &tailCalls{r: r, images: r.Images(), functions: map[addr.Run]*calledFunction{}}
	if r.mem == nil && r.opened == nil && r.Program != nil { // the program has ended
		x.images = r.Log.images()
	}
	var out []Frame
	if len(called) > 0 && len(frames) > 0 && frames[0].Num == 0 && frames[0].Code.IsReturn() {
		for _, jump := range x.between(x.named(called), frames[0].Code) {
			out = x.appendFrames(out, jump, -1)
		}
	}
	for i, f := range frames {
		out = append(out, f)
		if f.Inlined || i+1 == len(frames) || !frames[i+1].Code.IsReturn() {
			continue
		}
		for _, jump := range x.between(x.entry(f.Code.Lookup()), frames[i+1].Code) {
			out = x.appendFrames(out, jump, f.Num)
		}
	}
	return out
}

// tailCalls finds chains of tail calls for the frames of one stack.
type tailCalls struct {
	r         *Resolver
	images    []Image
	functions map[addr.Run]*calledFunction // by entry point
}

// calledFunction is a function and its tail calls.
type calledFunction struct {
	calls []tailCall
	known bool // the function has DWARF
}

// tailCall is a call site of a process.
type tailCall struct {
	from   addr.Code
	target addr.Run // 0 unknown
}

// maxTailSteps bounds the search for chains: their number grows exponentially.
const maxTailSteps = 10000

// between lists the jumps that lead from the call before ret to a function that has one
// of the entry points, innermost first.
func (x *tailCalls) between(callee []addr.Run, ret addr.Code) []addr.Code {
	if len(callee) == 0 {
		return nil
	}
	_, sites := x.sites(ret.Lookup())
	i := slices.IndexFunc(sites, func(c loadedSite) bool { return c.Return.Run(c.in.Bias) == ret.Addr() })
	if i < 0 {
		return nil
	}
	first := x.target(sites[i])
	if first == 0 || slices.Contains(callee, first) {
		return nil
	}
	c := chains{x: x, callee: callee, steps: maxTailSteps}
	if !c.follow(first) {
		return nil
	}
	return c.certain()
}

// chains are the ways of tail calls that lead to callee.
type chains struct {
	x       *tailCalls
	callee  []addr.Run // its entry points: forms of operator new have one name
	steps   int
	path    []tailCall
	found   bool
	longest []addr.Code // the first chain
	begin   int         // how many calls of it begin all chains
	end     int         // and how many end them
}

// follow searches from the function at entry on. It is false when nothing certain can be
// said: a function without call sites, a jump to an unknown address, or too many ways.
func (c *chains) follow(entry addr.Run) bool {
	if slices.Contains(c.callee, entry) {
		c.add()
		return c.begin+c.end > 0
	}
	if c.steps--; c.steps < 0 {
		return false
	}
	fn := c.x.function(entry)
	if !fn.known {
		return false
	}
	for _, call := range fn.calls {
		if slices.Contains(c.path, call) {
			continue
		}
		c.path = append(c.path, call)
		if call.target == 0 || !c.follow(call.target) {
			return false
		}
		c.path = c.path[:len(c.path)-1]
	}
	return true
}

// add intersects the chains so far with the one that was found.
func (c *chains) add() {
	if !c.found {
		c.found = true
		for _, call := range c.path {
			c.longest = append(c.longest, call.from)
		}
		c.begin, c.end = len(c.path), len(c.path)
		return
	}
	n := 0
	for n < min(c.begin, len(c.path)) && c.path[n].from == c.longest[n] {
		n++
	}
	c.begin = n
	n = 0
	for n < min(c.end, len(c.path)) && c.path[len(c.path)-1-n].from == c.longest[len(c.longest)-1-n] {
		n++
	}
	c.end = n
}

// certain are the calls that all chains share, innermost first.
func (c *chains) certain() []addr.Code {
	if !c.found {
		return nil
	}
	calls := c.longest
	if c.begin+c.end < len(calls) {
		calls = append(slices.Clone(calls[:c.begin]), calls[len(calls)-c.end:]...)
	}
	out := slices.Clone(calls)
	slices.Reverse(out)
	return out
}

// loadedSite is a call site of a loaded file.
type loadedSite struct {
	symbols.CallSite
	in *Image
}

// at is the file with code at a, nil without.
func (x *tailCalls) at(a addr.Run) *Image {
	for i := range x.images {
		if x.r.Covers(x.images[i], a) {
			return &x.images[i]
		}
	}
	return nil
}

// sites are the call sites of the function with code at a, and its entry point, 0
// without DWARF.
func (x *tailCalls) sites(a addr.Run) (addr.Run, []loadedSite) {
	in := x.at(a)
	if in == nil {
		return 0, nil
	}
	entry, sites, ok := in.Object.DWARF.CallSites(a.File(in.Bias))
	if !ok {
		return 0, nil
	}
	out := make([]loadedSite, 0, len(sites))
	for _, site := range sites {
		out = append(out, loadedSite{site, in})
	}
	return entry.Run(in.Bias), out
}

// entry is the entry point of the function with code at a, none if it is not known.
func (x *tailCalls) entry(a addr.Run) []addr.Run {
	if entry, _ := x.sites(a); entry != 0 {
		return []addr.Run{entry}
	}
	if in := x.at(a); in != nil {
		if sym, _, ok := in.Object.Symtab.SymbolAt(a.File(in.Bias)); ok && sym.IsCode() {
			return []addr.Run{sym.Addr.Run(in.Bias)}
		}
	}
	return nil
}

// named are the entry points of the functions with one of those symbols.
func (x *tailCalls) named(symbols []string) []addr.Run {
	var out []addr.Run
	for _, name := range symbols {
		for i := range x.images {
			in := &x.images[i]
			if sym, ok := in.Object.Symtab.Symbol(name); ok && sym.Defined {
				if at := codeAt(sym, in); at != 0 {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// function is what is known of the function with that entry point.
func (x *tailCalls) function(entry addr.Run) *calledFunction {
	fn := x.functions[entry]
	if fn != nil {
		return fn
	}
	fn = &calledFunction{}
	x.functions[entry] = fn
	start, sites := x.sites(entry)
	fn.known = start == entry
	for _, site := range sites {
		if site.Tail {
			var call tailCall // the zero value: neither end is known
			switch {
			case site.Return != 0:
				call = tailCall{addr.Return(site.Return.Run(site.in.Bias)), x.target(site)}
			case site.PC != 0:
				call = tailCall{addr.PC(site.PC.Run(site.in.Bias)), x.target(site)}
			}
			fn.calls = append(fn.calls, call)
		}
	}
	return fn
}

// target is the entry point of the function that a site calls, 0 unknown. A name means
// a hidden function of the same file, or the first definition in the order in which
// files were loaded, as for the dynamic linker.
func (x *tailCalls) target(site loadedSite) addr.Run {
	if site.Entry != 0 {
		return site.Entry.Run(site.in.Bias)
	}
	if site.Name == "" {
		return 0
	}
	if sym, ok := site.in.Object.Symtab.Symbol(site.Name); ok && sym.Local { // it was hidden
		return codeAt(sym, site.in)
	}
	for i := range x.images {
		if sym, ok := x.images[i].Object.Symtab.Symbol(site.Name); ok && sym.Defined && !sym.Local {
			return codeAt(sym, &x.images[i])
		}
	}
	return 0
}

// codeAt is the address of a function's symbol, 0 for an IFUNC: which code it chose is not known.
func codeAt(sym symbols.Sym, in *Image) addr.Run {
	if !sym.IsCode() || sym.IFunc {
		return 0
	}
	return sym.Addr.Run(in.Bias)
}

// appendFrames adds the frame of a jump, and the calls inlined there.
func (x *tailCalls) appendFrames(out []Frame, jump addr.Code, num int) []Frame {
	in := x.at(jump.Lookup())
	if in == nil {
		return out
	}
	base := Frame{Num: num, Code: jump, How: unwind.CFI, Tail: true}
	base.Module, base.Path, base.InFile = filepath.Base(in.Path), in.Path, jump.Addr().File(in.Bias)
	for _, sym := range in.Object.Lookup(jump.Lookup().File(in.Bias)) {
		fr := base
		fr.Frame = sym
		if !sym.Inlined {
			fr.Offset = uint64(jump.Addr() - sym.Entry.Run(in.Bias))
		}
		out = append(out, fr)
	}
	return out
}
