package symbols

import (
	"encoding/binary"
	"slices"

	"hdb/internal/addr"
)

// Offsets in runtime._func (Go's src/runtime/runtime2.go).
const (
	goFuncName  = 4
	goFileTable = 20 // of the number of the file, by address
	goLineTable = 24
	goUnit      = 32 // where the unit's numbers begin in the table of files
)

// Bounds of what a malformed file makes of a search: runs decoded, and ranges of one line.
const (
	maxGoSearch = 1 << 24
	maxGoRows   = 1 << 16
)

// goRow is code of a line without a break, of one function or inlined copy.
type goRow struct {
	low, high uint64
	function  uint64 // where it begins
	node      int32  // in its tree of calls, -1 of its own
	file      uint32 // offset of the name
	line      int32
}

// functionsByFile are the entries of the functions with code of each file, which the offset of its
// name represents.
func (c *goCopies) functionsByFile() map[uint32][]uint64 {
	index := map[uint32][]uint64{}
	work := 0
	for i := 0; c.image != nil && i < int(c.count) && work < maxGoSearch; i++ {
		low := c.module.text + uint64(binary.LittleEndian.Uint32(c.funcs[8*i:]))
		fn, ok := c.function(low)
		if !ok {
			continue
		}
		runs := c.runs(low, binary.LittleEndian.Uint32(fn[goFileTable:]))
		work += len(runs) + 1
		for _, r := range runs {
			file, ok := c.fileOf(fn, r.value)
			if list := index[file]; ok && (len(list) == 0 || list[len(list)-1] != low) {
				index[file] = append(list, low)
			}
		}
	}
	return index
}

// fileOf is the offset of the name of the file that a function has under a number.
func (c *goCopies) fileOf(fn []byte, number int32) (file uint32, ok bool) {
	unit := binary.LittleEndian.Uint32(fn[goUnit:])
	at := 4 * (uint64(unit) + uint64(number))
	if number < 0 || unit == noFuncData || at+4 > uint64(len(c.units)) {
		return 0, false
	}
	file = binary.LittleEndian.Uint32(c.units[at:])
	return file, file != noFuncData
}

// rows are the code of a line of a file, or of the next line that has some, by address.
func (g *goTable) rows(file string, lineNo int) (rows []goRow) {
	if g.read() == nil {
		return nil
	}
	c := &g.copies
	g.filesOnce.Do(func() { g.files = c.functionsByFile() })
	wanted := map[uint32]bool{}
	var functions []uint64
	for off, in := range g.files {
		if matchesFile(cString(c.files, off), file) {
			wanted[off] = true
			functions = append(functions, in...)
		}
	}
	slices.Sort(functions)
	best, work := int64(0), 0 // the lowest line not below the one asked for
	for _, low := range slices.Compact(functions) {
		work += c.eachRow(low, func(r goRow) {
			if l := int64(r.line); wanted[r.file] && l >= int64(lineNo) && (best == 0 || l <= best) && len(rows) < maxGoRows {
				if l != best {
					best, rows = l, rows[:0]
				}
				rows = append(rows, r)
			}
		})
		if work > maxGoSearch {
			break
		}
	}
	return rows
}

// eachRow yields the code of a function by the file, line and copy that it belongs to, and returns
// how many runs were decoded.
func (c *goCopies) eachRow(entry uint64, yield func(goRow)) (work int) {
	fn, ok := c.function(entry)
	if !ok {
		return 1
	}
	lines := c.runs(entry, binary.LittleEndian.Uint32(fn[goLineTable:]))
	files := c.runs(entry, binary.LittleEndian.Uint32(fn[goFileTable:]))
	var nodes []goRun
	if table, _, ok := c.inlining(entry); ok {
		nodes = c.runs(entry, table)
	}
	work = len(lines) + len(files) + len(nodes) + 1
	// covering drops what ends at pc or before, and is what there is of the rest.
	covering := func(runs *[]goRun, pc uint64) (goRun, bool) {
		for len(*runs) > 0 && (*runs)[0].high <= pc {
			*runs = (*runs)[1:]
		}
		if len(*runs) == 0 {
			return goRun{}, false
		}
		return (*runs)[0], true
	}
	for _, l := range lines {
		for pc := l.low; pc < l.high; {
			r := goRow{low: pc, high: l.high, function: entry, node: -1, line: l.value}
			f, ok := covering(&files, pc)
			if !ok {
				return work
			}
			if n, ok := covering(&nodes, pc); ok {
				r.node, r.high = n.value, min(r.high, n.high)
			}
			r.high = min(r.high, f.high)
			if r.file, ok = c.fileOf(fn, f.value); ok {
				yield(r)
			}
			pc = r.high
		}
	}
	return work
}

// findLine is Lines.Find by the table. It knows neither statements nor prologues: of each function and
// inlined copy it is the first code of the line.
func (g *goTable) findLine(file string, lineNo int) (found []Location) {
	type copyOf struct {
		function uint64
		node     int32
	}
	seen := map[copyOf]bool{}
	for _, r := range g.rows(file, lineNo) {
		if k := (copyOf{r.function, r.node}); !seen[k] {
			seen[k] = true
			found = append(found, Location{
				Addr: addr.File(r.low), File: cString(g.copies.files, r.file), Line: int(r.line),
				Function: g.copies.nameOf(r.function, r.node), Inlined: r.node >= 0,
			})
		}
	}
	return found
}

// nameOf is the function of a node in the tree of calls of the function that begins at entry.
func (c *goCopies) nameOf(entry uint64, node int32) string {
	fn, ok := c.function(entry)
	if !ok {
		return ""
	}
	if node < 0 {
		return cString(c.names, binary.LittleEndian.Uint32(fn[goFuncName:]))
	}
	var room [maxGoCall]byte
	_, tree, _ := c.inlining(entry)
	b, ok := c.inlinedCall(room[:], tree, node)
	if !ok {
		return ""
	}
	return cString(c.names, binary.LittleEndian.Uint32(b[c.goForm.name:]))
}

// lineRows is Lines.Rows by the table.
func (g *goTable) lineRows(file string, lineNo int) (rows []LineEntry) {
	last := noFuncData
	for _, r := range g.rows(file, lineNo) {
		if k := len(rows) - 1; k >= 0 && rows[k].End == addr.File(r.low) && last == r.file {
			rows[k].End = addr.File(r.high)
			continue
		}
		last = r.file
		rows = append(rows, LineEntry{Addr: addr.File(r.low), End: addr.File(r.high), File: cString(g.copies.files, r.file), Line: int(r.line), Stmt: true})
	}
	return rows
}
