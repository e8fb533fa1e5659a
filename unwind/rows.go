package unwind

import (
	"encoding/binary"
	"math"

	"hdb/internal/addr"
)

const (
	// maxNested bounds the depth of FDEs inside the code of others that Rows follows.
	// Linkers do not nest FDEs. In a damaged file, the outermost are dropped.
	maxNested = 64
	// A valid section is run once. A damaged search table may name one FDE many times.
	// Rows ends after this many times the section's size.
	maxRuns = 16
	minWork = 1 << 20 // bytes of instructions that are run in any case
)

// Rows visits all rows in ascending order until yield returns false. Rows do not overlap:
// RowAt returns the visited row anywhere in [row.Low, row.High), and none between rows, but for
// Switches, which it prefers. A row
// that the code of another FDE interrupts is visited in parts, so that Low and High may be
// narrower than RowAt's.
//
// The row is Rows' own: it changes with the next one, and only its rules' Expr may
// be kept. Rows runs each FDE's program once, allocates for none of them and leaves
// the cache of RowAt alone. It holds no lock while yield runs.
func (t *Table) Rows(yield func(*Row) bool) {
	t.mu.Lock()
	eh, debug := newRowCursor(t.ehIndex()), newRowCursor(t.debugIndex())
	t.mu.Unlock()
	e, d := eh.next(), debug.next()
	for pos := addr.File(0); e != nil || d != nil; {
		switch {
		case d == nil || e != nil && e.Low <= max(d.Low, pos):
			if !yield(e) {
				return
			}
			pos = e.High
			e = eh.next()
		case d.High <= pos:
			d = debug.next()
		default: // .debug_frame has what .eh_frame has not
			low, high := d.Low, d.High
			d.Low = max(low, pos)
			if e != nil {
				d.High = min(high, e.Low)
			}
			if !yield(d) {
				return
			}
			pos = d.High
			d.Low, d.High = low, high
		}
	}
}

// Switches are the rows as given in Sections, which Rows does not visit. They must not be changed.
func (t *Table) Switches() []Row { return t.sec.Switches }

// PLT is the ranges of the procedure linkage table as given in Sections. It must not be
// changed.
func (t *Table) PLT() []Range { return t.sec.PLT }

// Text is the ranges of code as given in Sections. It must not be changed.
func (t *Table) Text() []Range { return t.sec.Text }

// EntryCode is the code at the entry point, which has no caller where it has no row. It
// is empty without an entry point.
func (t *Table) EntryCode() Range {
	if t.sec.Entry == 0 {
		return Range{}
	}
	return Range{Low: t.sec.Entry, High: t.sec.Entry + entryCode}
}

// A rowCursor visits the rows of one section where index.find would find them.
type rowCursor struct {
	x    *index
	i    int    // the FDE that begins next, in x.search or x.fdes
	low  uint64 // where it begins to count; the highest address when there is none
	more bool   // there is one
	pos  uint64 // everything below was visited
	work int    // bytes of instructions that may yet be run

	runs []*fdeRows // FDEs begun and not ended, each inside the one before
	free []*fdeRows

	cies   map[int]*cie // by offset; nil: cannot be read
	cie    *cie         // the latest
	cieOff int          // its offset, -1 at first
}

func newRowCursor(x *index) *rowCursor {
	c := &rowCursor{x: x, cies: map[int]*cie{}, cieOff: -1}
	c.work = max(minWork, maxRuns*len(x.section.data))
	c.lookAhead()
	return c
}

// lookAhead finds the beginning of FDE i. Addresses in a search table are relative to the
// table. There is no code where they wrap around.
func (c *rowCursor) lookAhead() {
	x := c.x
	for ; x.search != nil && 8*c.i < len(x.search); c.i++ {
		rel := int64(int32(binary.LittleEndian.Uint32(x.search[8*c.i:])))
		c.low = x.hdr + uint64(rel)
		if (rel < 0) == (c.low < x.hdr) {
			c.more = true
			return
		}
	}
	if c.more = c.i < len(x.fdes); c.more {
		c.low = x.fdes[c.i].low
		return
	}
	c.low = math.MaxUint64
	if x.search != nil && x.hdr < 1<<63 {
		c.low = x.hdr + 1<<63 // where index.find's comparison ends, too
	}
}

// next is the next row, its range cut to where it counts; nil at the end.
func (c *rowCursor) next() *Row {
	for {
		if len(c.runs) == 0 {
			if !c.more {
				return nil
			}
			c.open()
			continue
		}
		r := c.runs[len(c.runs)-1]
		low, high := max(r.low, c.pos), min(r.high, c.low)
		switch {
		case low < high && r.row != nil:
			c.pos = high
			r.row.Low, r.row.High = addr.File(low), addr.File(high)
			return r.row
		case r.high > c.low:
			if !c.more {
				return nil
			}
			c.open()
		default:
			c.pos = max(c.pos, r.high)
			if !r.step() {
				c.drop(len(c.runs) - 1)
			}
		}
	}
}

// open begins FDE i. In a search table it ends all before it; else it hides them as
// far as it reaches, as in index.find.
func (c *rowCursor) open() {
	x := c.x
	var off int
	if x.search != nil {
		at := x.hdr + uint64(int32(binary.LittleEndian.Uint32(x.search[8*c.i+4:])))
		off = int(at - x.section.addr)
		c.hide(math.MaxUint64)
	} else {
		off = x.fdes[c.i].off
	}
	c.pos = max(c.pos, c.low)
	c.i++
	c.lookAhead()
	if len(c.free) == 0 {
		c.free = append(c.free, &fdeRows{})
	}
	last := len(c.free) - 1
	r := c.free[last]
	if !c.parse(off, &r.fde) {
		return
	}
	if c.work -= len(r.fde.program) + len(r.fde.cie.initial); c.work < 0 {
		c.i, c.more, c.low = math.MaxInt, false, math.MaxUint64
		c.hide(math.MaxUint64)
		return
	}
	c.free = c.free[:last]
	c.hide(r.fde.high)
	if len(c.runs) == maxNested {
		c.drop(0)
	}
	c.runs = append(c.runs, r)
	r.begin(x.section.bases)
}

// hide ends the FDEs that have no code at high or above it.
func (c *rowCursor) hide(high uint64) {
	for n := len(c.runs); n > 0 && c.runs[n-1].fde.high <= high; n-- {
		c.drop(n - 1)
	}
}

func (c *rowCursor) drop(i int) {
	c.free = append(c.free, c.runs[i])
	c.runs = append(c.runs[:i], c.runs[i+1:]...)
}

// parse reads the FDE at an offset of the section. An FDE that cannot be read covers no
// code; index.find reports the error.
func (c *rowCursor) parse(off int, f *fde) bool {
	s := c.x.section
	e, done, err := s.entryAt(off)
	if done || err != nil || e.isCIE {
		return false
	}
	if e.cie != c.cieOff {
		known := false
		if c.cie, known = c.cies[e.cie]; !known {
			if c.cie, err = s.cieAt(e.cie); err != nil {
				c.cie = nil
			}
			c.cies[e.cie] = c.cie
		}
		c.cieOff = e.cie
	}
	if c.cie == nil {
		return false
	}
	*f, err = s.fdeOf(&e, c.cie)
	return err == nil && f.low < f.high
}

// An fdeRows runs the program of an FDE from row to row.
type fdeRows struct {
	program
	fde       fde
	low, high uint64 // the present row's range; before the first, nothing at the FDE's low
	row       *Row   // nil where there is none
	last      bool   // no instructions are left to run
	initialOf *cie   // whose instructions led to program.initial
	own       Row    // the present row of a CIE with its own return address column
}

// begin goes before the first row. It runs the CIE's instructions, unless they left
// the same row for the FDE before.
func (r *fdeRows) begin(b bases) {
	p, f := &r.program, &r.fde
	b.function = f.low
	p.fde, p.bases, p.target, p.loc, p.done, p.Err = f, b, f.low, f.low, false, nil
	p.remembered = p.remembered[:0]
	r.low, r.high, r.row, r.last = f.low, f.low, nil, false
	if r.initialOf == f.cie {
		p.row = p.initial
	} else {
		p.row, p.located = Row{Signal: f.cie.signal}, false
		err := p.run(f.cie.initial, f.cie.initialAt)
		p.initial = p.row
		r.initialOf = f.cie
		if p.located || err != nil { // not the same for each FDE
			r.initialOf = nil
		}
		if err != nil || p.loc != f.low {
			r.high, r.last = f.high, true
			return
		}
	}
	p.row.Function = Range{Low: addr.File(f.low), High: addr.File(f.high)}
	p.reader = readerOf(f.program, f.programAt)
}

// step goes to the next row; false at the end of the FDE's code.
func (r *fdeRows) step() bool {
	p, f := &r.program, &r.fde
	if r.high >= f.high {
		return false
	}
	r.low = r.high
	if r.last {
		r.high, r.row = f.high, nil
		return true
	}
	p.loc, p.target = r.low, r.low
	r.last = p.done // the CIE had an advance: behind it is nothing
	err := p.resume()
	r.high = f.high
	if p.done {
		r.high = min(p.next, f.high)
	}
	p.done = false
	r.row = p.complete(&r.own)
	if err != nil {
		r.row, r.last = nil, true
	}
	return true
}
