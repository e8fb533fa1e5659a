package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/names"
	"hdb/session/target"
	"hdb/unwind"
)

// Goroutines are those of a Go program, by the structures of its own runtime: neither DWARF
// nor symbols are needed. The program is stopped, or a core file.
type Goroutines struct {
	target *target.Target
	walker *target.Walker

	// What is known of the runtime, for as long as the process maps the same files.
	image   *inferior.Process
	version uint64
	runtime *goruntime.Runtime
	err     error
}

// NewGoroutines are those of the program that a target has.
func NewGoroutines(t *target.Target, w *target.Walker) *Goroutines {
	return &Goroutines{target: t, walker: w}
}

// A Goroutine of the program.
type Goroutine struct {
	goruntime.Goroutine
	Thread  int           // the number of the thread that it runs on, 0 none
	Waited  time.Duration // since a collection found it waiting; 0 unknown
	System  bool          // it is the runtime's own, which Go's tracebacks leave out
	Where   *names.Frame  // the innermost frame of the user's code, or of the function that waits; nil unknown
	Start   *names.Frame  // its function; nil unknown
	Creator *names.Frame  // the go statement; nil unknown, and of the first
}

// runtimeOf finds the Go runtime of the process.
func (g *Goroutines) runtimeOf() (*goruntime.Runtime, error) {
	if err := g.target.Readable(); err != nil {
		return nil, err
	}
	if v := g.target.Names.Modules.Version(); g.image != g.target.Image || g.version != v {
		g.image, g.version = g.target.Image, v
		g.runtime, g.err = g.findRuntime()
	}
	return g.runtime, g.err
}

// findRuntime reads where the runtime has its goroutines.
func (g *Goroutines) findRuntime() (*goruntime.Runtime, error) {
	m := g.target.GoHome()
	if m == nil {
		if unread := g.target.Unread(); unread != nil {
			return nil, fmt.Errorf("no Go runtime found, but not every file was read: %w", unread)
		}
		return nil, fmt.Errorf("%s has no Go runtime: it has no goroutines", g.target.Image.Exe())
	}
	version, err := m.Object.GoVersion()
	if err != nil {
		return nil, fmt.Errorf("%s does not say which version of Go built it: %w", m.Name, err)
	}
	r, err := goruntime.Open(g.target.GoProgram(m.Object, m.Bias), version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return r, nil
}

// List lists the goroutines by their numbers, those of the runtime itself as well, and tells how many are
// left out because they could not be read.
func (g *Goroutines) List() (list []Goroutine, lost int, err error) {
	r, err := g.runtimeOf()
	if err != nil {
		return nil, 0, err
	}
	raw, lost, err := r.Goroutines(g.givenUp)
	if err != nil {
		return nil, 0, err
	}
	threads, err := g.threads(r)
	if err != nil {
		return nil, 0, err
	}
	now := g.clockNow()
	places := &goPlaces{g: g, known: map[addr.Code]*goPlace{}}
	list = make([]Goroutine, len(raw))
	for i, x := range raw {
		if i%64 == 0 {
			if err := g.givenUp(); err != nil {
				return nil, 0, err
			}
		}
		list[i] = g.describe(x, threads, now, places)
	}
	return list, lost, nil
}

func (g *Goroutines) givenUp() error {
	if g.target.Reading.GivenUp() {
		return g.target.Reading.Cut()
	}
	return nil
}

// clockNow is the time on the runtime's clock, 0 of a core file, which does not have it.
func (g *Goroutines) clockNow() int64 {
	if g.target.Proc == nil {
		return 0
	}
	return inferior.Monotonic()
}

func (g *Goroutines) describe(x goruntime.Goroutine, threads goThreads, now int64, places *goPlaces) Goroutine {
	d := Goroutine{Goroutine: x}
	if x.Since > 0 && now > x.Since {
		d.Waited = time.Duration(now - x.Since)
	}
	if t, ok := threads.running[x.At]; ok {
		d.Thread = t.thread.Num
	}
	if x.StartPC != 0 {
		d.Start = places.at(addr.PC(addr.Run(x.StartPC))).outer()
	}
	if x.GoPC != 0 && x.ID != 1 { // the first is made by assembly code
		d.Creator = places.at(addr.Return(addr.Run(x.GoPC))).inner()
	}
	user := false
	d.Where, user = g.where(x, threads, places)
	d.System = systemGoroutine(d.Start, user)
	return d
}

// systemGoroutine tells the runtime's own goroutines by their functions, as
// runtime.isSystemGoroutine does. Those that run finalizers and cleanups are the user's while they
// are in one.
func systemGoroutine(start *names.Frame, user bool) bool {
	if start == nil {
		return false
	}
	switch start.Function {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups", "runtime.(*cleanupQueue).runCleanups":
		return !user
	}
	return strings.HasPrefix(start.Function, "runtime.")
}

// A goPlace is what a code address means in the stack of a goroutine.
type goPlace struct {
	frames []names.Frame
	own    int  // the first frame of the user's code, -1 none
	named  int  // the first frame out of the runtime and what waits for it, -1 none
	helper bool // a function that the compiler has made
}

func (p *goPlace) inner() *names.Frame {
	if len(p.frames) == 0 {
		return nil
	}
	return &p.frames[0]
}

func (p *goPlace) outer() *names.Frame {
	if len(p.frames) == 0 {
		return nil
	}
	return &p.frames[len(p.frames)-1]
}

// goPlaces remembers what addresses mean: goroutines are in few places.
type goPlaces struct {
	g     *Goroutines
	known map[addr.Code]*goPlace
}

func (ps *goPlaces) at(code addr.Code) *goPlace {
	if p, ok := ps.known[code]; ok {
		return p
	}
	p := &goPlace{frames: ps.g.target.Names.AppendFrames(nil, unwind.Frame{PC: code}), own: -1, named: -1}
	if outer := p.outer(); outer != nil {
		p.helper = ps.g.target.Names.GoHelper(outer)
	}
	for i := range p.frames {
		f := &p.frames[i]
		if p.helper && i == len(p.frames)-1 {
			break
		}
		if p.own < 0 && f.Function != "" && ps.g.target.Attribution.Own(f) {
			p.own = i
		}
		if p.named < 0 && f.Function != "" && !goruntime.Waits(f.Function) {
			p.named = i
		}
	}
	ps.known[code] = p
	return p
}

// maxGoWhere bounds the frames in which the user's code is looked for.
const maxGoWhere = 64

// where is the innermost frame of the user's code, without one the innermost outside of the
// runtime, without one the goroutine's function. user tells that it is not the last.
func (g *Goroutines) where(x goruntime.Goroutine, threads goThreads, places *goPlaces) (f *names.Frame, user bool) {
	raw := g.frames(x, threads, maxGoWhere)
	var named *names.Frame
	for i := range raw.Frames {
		p := places.at(raw.Frames[i].PC)
		if p.own >= 0 {
			return &p.frames[p.own], true
		}
		if named == nil && p.named >= 0 {
			named = &p.frames[p.named]
		}
	}
	if named != nil {
		return named, true
	}
	for _, f := range slices.Backward(raw.Frames) {
		p := places.at(f.PC)
		if o := p.outer(); o != nil && o.Function != "" && o.Function != goruntime.GoExit && !p.helper {
			return o, false
		}
	}
	return nil, false
}

// Goroutine is the one of that number.
func (g *Goroutines) Goroutine(id uint64) (Goroutine, error) {
	r, err := g.runtimeOf()
	if err != nil {
		return Goroutine{}, err
	}
	raw, lost, err := r.Goroutines(g.givenUp)
	if err != nil {
		return Goroutine{}, err
	}
	i := slices.IndexFunc(raw, func(x goruntime.Goroutine) bool { return x.ID == id })
	switch {
	case i < 0 && lost > 0:
		return Goroutine{}, fmt.Errorf("no goroutine %d (%s could not be read); goroutines lists the others", id, units.Count(lost, "goroutine"))
	case i < 0:
		return Goroutine{}, fmt.Errorf("no goroutine %d: it has ended, or never existed; goroutines lists all", id)
	}
	threads, err := g.threads(r)
	if err != nil {
		return Goroutine{}, err
	}
	return g.describe(raw[i], threads, g.clockNow(), &goPlaces{g: g, known: map[addr.Code]*goPlace{}}), nil
}
