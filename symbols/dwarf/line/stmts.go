package line

import "sort"

// Stmts are the rows as a debugger that steps by lines sees them: those of line 0
// (code of no line) left out, a row that repeats the line before it left out when
// the line has discriminators (they tell parts of one statement apart), and rows
// that a change of file overrides at the same address left out. They
// keep the order of Rows and end each sequence with its EndSequence row. These
// are gdb's rules, which breakpoints placed by both should agree on.
func (t *Table) Stmts() []Row {
	t.stmtOnce.Do(func() {
		for _, s := range t.seqs {
			t.stmts = appendStmts(t.stmts, t.Rows[s.first:s.end])
		}
	})
	return t.stmts
}

func appendStmts(dst, rows []Row) []Row {
	first := len(dst)
	var last Row        // the last row kept
	var lastFile uint32 // of the last row with a line
	discriminated := false
	prevLine := uint32(0)
	stmtAt := ^uint64(0) // an address that has a statement already
	for _, r := range rows {
		if r.Is(EndSequence) {
			return append(dst, r)
		}
		if r.Line != prevLine {
			discriminated = false
		}
		prevLine = r.Line
		discriminated = discriminated || r.Is(Discriminator)
		if r.Line == 0 {
			continue
		}
		changed := len(dst) > first && r.File != lastFile
		if changed && !r.Is(Stmt) && stmtAt == r.Addr {
			continue
		}
		if changed {
			for len(dst) > first && dst[len(dst)-1].Addr == r.Addr {
				dst = dst[:len(dst)-1]
			}
		}
		lastFile = r.File
		if !changed && len(dst) > first && r.Line == last.Line && discriminated {
			continue
		}
		if r.Is(Stmt) {
			stmtAt = r.Addr
		}
		last = r
		dst = append(dst, r)
	}
	return dst
}

// StmtAt is the index in Stmts of the row that covers a; of rows at the same
// address the last one, or the last statement when that is none.
func (t *Table) StmtAt(a uint64) (int, bool) {
	s := t.sequence(a)
	if s == nil {
		return 0, false
	}
	rows := t.Stmts()
	// Sequences ascend: the rows of s are between its bounds.
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Addr > a }) - 1
	if i < 0 || rows[i].Addr < s.low || rows[i].Is(EndSequence) {
		return 0, false
	}
	for k := i; !rows[i].Is(Stmt) && k >= 0 && rows[k].Addr == rows[i].Addr && !rows[k].Is(EndSequence); k-- {
		if rows[k].Is(Stmt) {
			return k, true
		}
	}
	return i, true
}

// StmtEnd is the address where the code of Stmts()[i] ends.
func (t *Table) StmtEnd(i int) uint64 {
	rows := t.Stmts()
	a := rows[i].Addr
	for _, r := range rows[i+1:] {
		if r.Addr > a || r.Is(EndSequence) {
			return r.Addr
		}
	}
	return a
}
