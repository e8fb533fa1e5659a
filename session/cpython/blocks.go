package cpython

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/names"
	"hdb/python/pymalloc"
	"hdb/query"
	"hdb/recording"
	"hdb/session/recordings"
)

// A Block is what is known of an address by the allocators of CPython.
type Block struct {
	Runtime Runtime
	InArena bool
	Heap    Heap
	Place   pymalloc.Place       // of one that is in an arena
	Debug   *pymalloc.DebugBlock // of one with debug hooks
}

// A Damage is a damaged block.
type Damage struct {
	pymalloc.DebugBlock
	Event  *recording.Event // that made it, or if it was freed, the last one, if that was recorded
	Frames []names.Frame    // of what made it, innermost first, up to the user's code
}

// ErrNoDebugHooks is of a process whose blocks have nothing around them.
var ErrNoDebugHooks = errors.New("blocks have no guard bytes: run the program with PYTHONMALLOC=debug, or -X dev")

// domains are those of an interpreter.
func (p Heaps) domains(f File) ([]pymalloc.Domain, error) {
	maps, err := p.target.Image.Maps()
	if err != nil {
		return nil, err
	}
	executable := func(a addr.Run) bool {
		return slices.ContainsFunc(maps, func(m inferior.Mapping) bool { return m.Low <= a && a < m.High && m.Perm[2] == 'x' })
	}
	tables, err := f.In.Allocators(f.Symbols, executable)
	if err != nil {
		return nil, err
	}
	return pymalloc.Domains(p.memory(), tables, executable)
}

func (p Heaps) memory() interruptible { return interruptible{p.target.Image, p.target.Reading} }

// A pythonDebug is the interpreter of a file with debug hooks.
type pythonDebug struct {
	File
	heaps  []Heap
	blocks []pymalloc.DebugBlocks // of the heaps, with hooks
	hooks  bool                   // blocks of mem and obj have debug hooks
	serial bool
	unread error // why heaps, or whether there are hooks, are not known
}

// debugged are the interpreters of the process, and which have debug hooks.
func (p Heaps) debugged() (all []pythonDebug, err error) {
	files, refused, err := p.Interpreters()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		d := pythonDebug{File: f}
		if d.heaps, err = p.of(f); err != nil && !errors.Is(err, pymalloc.ErrNotStarted) {
			d.unread = err
		}
		domains, err := p.domains(f)
		if err != nil {
			d.unread = errors.Join(d.unread, err)
		} else {
			d.hooks = slices.ContainsFunc(domains, func(d pymalloc.Domain) bool { return d.Name == "obj" && d.Debug() })
		}
		for _, h := range d.heaps {
			if d.hooks {
				d.blocks = append(d.blocks, h.Debug())
				d.serial = d.serial || d.blocks[len(d.blocks)-1].Serial
			}
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, refused
	}
	return all, nil
}

// Block tells what an address is to the allocators. start is where a recorded block begins that holds it,
// 0 without one.
func (p Heaps) Block(at, start uint64) (Block, error) {
	all, err := p.debugged()
	if err != nil {
		return Block{}, err
	}
	hooks := false
	var unread error
	for _, d := range all {
		hooks = hooks || d.hooks
		unread = errors.Join(unread, d.unread)
		for i, h := range d.heaps {
			w, ok := h.Find(addr.Run(at))
			if !ok {
				continue
			}
			b := Block{Runtime: h.Runtime, InArena: true, Heap: h, Place: w}
			if d.hooks {
				if x, err := d.blocks[i].At(w); err == nil {
					b.Debug = &x
				}
			}
			return b, nil
		}
	}
	if start == 0 {
		start = at
	}
	for _, d := range all {
		if !d.hooks {
			continue
		}
		x, err := pymalloc.DecodeBlock(p.memory(), addr.Run(start), d.serial)
		if err == nil && isDebugBlock(x) && at-start <= x.Size {
			return Block{Runtime: Runtime{d.In.Version(), d.Where}, Debug: &x}, nil
		}
	}
	if unread != nil {
		return Block{}, fmt.Errorf("%#x: some blocks are unknown: %w", at, unread)
	}
	if hooks {
		return Block{}, fmt.Errorf("%#x is in no arena of CPython, and no block with debug hooks begins there", at)
	}
	return Block{}, fmt.Errorf("%#x is in no arena of CPython: blocks of more than %d bytes are the C library's", at, pymalloc.Threshold)
}

// isDebugBlock reports whether what was decoded somewhere is a block: most of its marks are intact.
func isDebugBlock(x pymalloc.DebugBlock) bool {
	if x.Moving {
		return false
	}
	for _, d := range x.Damages {
		if d.Kind == pymalloc.LostHeader || d.Kind == pymalloc.Underrun && len(d.Bytes) > 3 {
			return false
		}
	}
	return true
}

// A Check is what Check has found.
type Check struct {
	Hooks    bool
	Unread   error // why heaps, or whether blocks have hooks, are not known
	Arenas   int   // blocks of arenas that were looked at: those with debug hooks that were ever in use
	Recorded int   // blocks outside of arenas that were recorded, and were looked at
	Known    bool
	Damaged  []Damage
	More     int   // that are not in Damaged
	Pools    error // lists of free blocks that do not hold together
}

// maxDamaged bounds the blocks that are reported.
const maxDamaged = 100

// Check looks at all blocks with debug hooks: those in arenas, and of the others those that were
// recorded. Without debug hooks it looks at the lists of free blocks only.
func (p Heaps) Check(ctx context.Context, q *recordings.Queries) (c Check, err error) {
	all, err := p.debugged()
	if err != nil {
		return c, err
	}
	add := func(x pymalloc.DebugBlock) bool {
		if len(c.Damaged) < maxDamaged {
			c.Damaged = append(c.Damaged, damageOf(q, x))
		} else {
			c.More++
		}
		return true
	}
	for _, d := range all {
		c.Hooks = c.Hooks || d.hooks
		c.Unread = errors.Join(c.Unread, d.unread)
		for i, h := range d.heaps {
			if !d.hooks {
				c.Pools = errors.Join(c.Pools, h.Blocks(func(addr.Run, uint64) bool { return true }))
				continue
			}
			n, err := d.blocks[i].Damaged(add)
			c.Arenas += n
			c.Pools = errors.Join(c.Pools, err)
		}
	}
	if c.Hooks {
		c.Recorded, c.Known = p.checkRecorded(ctx, q, all, add)
	}
	return c, p.target.Reading.Cut()
}

// damageOf is a damaged block with what was recorded of it.
func damageOf(q *recordings.Queries, x pymalloc.DebugBlock) Damage {
	d := Damage{DebugBlock: x}
	w, err := q.Whence(uint64(x.At))
	switch {
	case err != nil:
	case w.Event != nil && w.Start == uint64(x.At):
		d.Event, d.Frames = w.Event, w.Frames
	default:
		d.Event = w.Last
	}
	return d
}

// checkRecorded looks at recorded blocks outside of arenas. known tells that there is a recording of
// Python's allocators.
func (p Heaps) checkRecorded(ctx context.Context, q *recordings.Queries, all []pythonDebug, add func(pymalloc.DebugBlock) bool) (n int, known bool) {
	c, err := cond.Parse(`kind("Py*")`)
	if err != nil {
		return 0, false
	}
	live, err := q.Live(ctx, c, query.Moment{}, 0)
	if err != nil || !p.target.Settings.PythonAllocators && live.Blocks == 0 {
		return 0, false
	}
	serial := slices.ContainsFunc(all, func(d pythonDebug) bool { return d.serial })
	for _, e := range live.Largest {
		inArena := slices.ContainsFunc(all, func(d pythonDebug) bool {
			return slices.ContainsFunc(d.heaps, func(h Heap) bool { _, ok := h.ArenaOf(addr.Run(e.Addr)); return ok })
		})
		if inArena || !strings.HasPrefix(e.Function, "Py") || p.target.Reading.GivenUp() {
			continue
		}
		x, err := pymalloc.DecodeBlock(p.memory(), addr.Run(e.Addr), serial)
		if err != nil && len(x.Damages) == 0 {
			continue
		}
		if n++; len(x.Damages) > 0 {
			add(x)
		}
	}
	return n, true
}

// maxBlamed is how many words of the stack are looked at.
const maxBlamed = 2048

// Blamed is the damaged block that the innermost part of a thread's stack refers to, nil
// without one: what made CPython's debug hooks end the program.
func (p Heaps) Blamed(t *inferior.Thread) *Damage {
	regs, err := t.Regs()
	if err != nil {
		return nil
	}
	all, err := p.debugged()
	if err != nil || !slices.ContainsFunc(all, func(d pythonDebug) bool { return d.hooks }) {
		return nil
	}
	b := make([]byte, 8*maxBlamed)
	n, _ := p.target.Image.ReadAt(b, int64(regs.Rsp)) // the stack may end before
	seen := map[addr.Run]bool{}
	for i := 0; i+8 <= n; i += 8 {
		at := addr.Run(binary.LittleEndian.Uint64(b[i:]))
		if at == 0 || at%8 != 0 || seen[at] {
			continue
		}
		seen[at] = true
		if x, ok := p.damagedAt(all, at); ok {
			return &Damage{DebugBlock: x}
		}
	}
	return nil
}

// damagedAt is the damaged block that the program was given at an address.
func (p Heaps) damagedAt(all []pythonDebug, at addr.Run) (pymalloc.DebugBlock, bool) {
	for _, d := range all {
		if !d.hooks {
			continue
		}
		for i, h := range d.heaps {
			w, ok := h.Find(at)
			if !ok {
				continue
			}
			x, err := d.blocks[i].At(w)
			return x, err == nil && w.InUse && x.At == at && len(x.Damages) > 0
		}
		x, err := pymalloc.DecodeBlock(p.memory(), at, d.serial)
		if err == nil && isDebugBlock(x) && len(x.Damages) > 0 {
			return x, true
		}
	}
	return pymalloc.DebugBlock{}, false
}
