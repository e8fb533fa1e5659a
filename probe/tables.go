package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
	"hdb/unwind"
)

// tables are the walker's: the rules, and for each module the addresses at
// which the rule changes.
type tables struct {
	shared *shared
	at     addr.Run // of the memory file in the inferior
	rules  *cfi.Rules
	sent   int    // rules in the memory file
	end    uint64 // of the tables in the memory file
	known  map[*unwind.Table]placed
	mods   []tableOf
	mu     sync.Mutex // guards changes of mods, which only the owner makes
	own    []tableOf  // the probe's own code
	round  uint64     // counts generations of the caches
}

// placed is a table in the memory file.
type placed struct {
	table     *cfi.Table
	offs, ids uint64 // offsets in the file
	rows      int
	low, high addr.File
}

// tableOf is a placed table at a load bias.
type tableOf struct {
	module inferior.Module // zero for the probe's own code
	bias   addr.Bias
	placed
}

func newTables(s *shared, at addr.Run) (*tables, error) {
	t := &tables{shared: s, at: at, rules: cfi.NewRules(), end: fileTables, known: map[*unwind.Table]placed{}}
	if id := t.rules.ID(cfi.Rule(formNoModule)); id != ruleNoMod {
		return nil, fmt.Errorf("probe: the rule for code in no module is number %d, the core takes it for %d", id, ruleNoMod)
	}
	return t, nil
}

// add compiles the CFI of a module whose code covers the run addresses [low, high).
func (t *tables) add(m inferior.Module, cfiTable *unwind.Table, low, high addr.Run, memory io.ReaderAt) error {
	p, ok := t.known[cfiTable]
	if !ok || cfiTable == nil || p.low != low.File(m.Bias) || p.high != high.File(m.Bias) {
		code := biased{memory, m.Bias}
		table, err := cfi.Compile(cfiTable, low.File(m.Bias), high.File(m.Bias), code, t.rules)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if p, err = t.place(table, high.File(m.Bias)); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		t.known[cfiTable] = p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mods = append(t.mods, tableOf{m, m.Bias, p})
	return nil
}

// biased reads a module's memory by file address.
type biased struct {
	memory io.ReaderAt
	bias   addr.Bias
}

func (b biased) ReadAt(buf []byte, at int64) (int, error) {
	return b.memory.ReadAt(buf, int64(addr.File(at).Run(b.bias)))
}

// setOwn replaces the tables of the probe's own code, which are by run address.
// Such a table only ever grows: one with as many rows as before is the same, and
// takes no room again.
func (t *tables) setOwn(list []ownTable) error {
	var own []tableOf
	for _, o := range list {
		same := func(x tableOf) bool { return x.low == o.table.Low && x.rows == len(o.table.Offs) }
		if i := slices.IndexFunc(t.own, same); i >= 0 {
			known := t.own[i]
			known.high = addr.File(o.high)
			own = append(own, known)
			continue
		}
		p, err := t.place(o.table, addr.File(o.high))
		if err != nil {
			return err
		}
		own = append(own, tableOf{placed: p})
	}
	t.own = own
	return nil
}

// An ownTable covers code of the probe's own up to high.
type ownTable struct {
	table *cfi.Table
	high  addr.Run
}

// place writes a table to the memory file.
func (t *tables) place(table *cfi.Table, high addr.File) (placed, error) {
	p := placed{table: table, rows: len(table.Offs), low: table.Low, high: high}
	p.offs = t.end
	p.ids = p.offs + 4*uint64(p.rows)
	end := (p.ids + 2*uint64(p.rows) + 7) &^ 7
	if end > fileTables+tablesSize {
		return p, errors.New("no room for its unwinding table: its frames cannot be followed")
	}
	at := t.shared.file[p.offs:end]
	for i, off := range table.Offs {
		binary.LittleEndian.PutUint32(at[4*i:], off)
	}
	at = t.shared.file[p.ids:end]
	for i, id := range table.IDs {
		binary.LittleEndian.PutUint16(at[2*i:], id)
	}
	t.end = end
	return p, nil
}

// drop forgets modules that were unloaded. Their tables stay for the next load.
func (t *tables) drop(gone func(inferior.Module) bool) (dropped bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.mods[:0]
	for _, m := range t.mods {
		if gone(m.module) {
			dropped = true
			continue
		}
		kept = append(kept, m)
	}
	t.mods = kept
	return dropped
}

// publish writes the list of modules to the memory file and returns what the
// state has to point to. With fresh, caches of what was true of other modules
// are left behind.
func (t *tables) publish(fresh bool) (tablePointers, error) {
	all := slices.Concat(t.own, t.mods)
	if len(all) > maxModules {
		return tablePointers{}, fmt.Errorf("%d modules, the probe has room for %d", len(all), maxModules)
	}
	for i, r := range t.rules.List()[t.sent:] {
		binary.LittleEndian.PutUint64(t.shared.file[fileRules+8*(t.sent+i):], uint64(r))
	}
	t.sent = len(t.rules.List())
	if fresh {
		t.round++
	}
	mods := uint64(fileMods) + t.round%numMods*modsSize
	list := t.shared.file[mods : mods+modsSize]
	for i, m := range all {
		entry := list[modSize*i:]
		binary.LittleEndian.PutUint64(entry[moRows:], uint64(m.rows))
		binary.LittleEndian.PutUint64(entry[moOffs:], uint64(t.at)+m.offs)
		binary.LittleEndian.PutUint64(entry[moIDs:], uint64(t.at)+m.ids)
		binary.LittleEndian.PutUint64(entry[moLow:], uint64(m.low.Run(m.bias)))
		binary.LittleEndian.PutUint64(entry[moLen:], uint64(m.high-m.low)) // last: an entry without length covers nothing
	}
	clear(list[modSize*len(all):])
	cache := uint64(fileCaches) + t.round%numCaches*cacheSize
	memo := uint64(fileMemos) + t.round%numMemos*memoSize
	if fresh {
		t.shared.empty(int(cache), cacheSize)
		t.shared.empty(int(memo), memoSize)
	}
	return tablePointers{
		modules: uint64(t.at) + mods, count: uint64(len(all)), rules: uint64(t.at) + fileRules,
		cache: uint64(t.at) + cache, memo: uint64(t.at) + memo,
	}, nil
}

// tablePointers are the parts of the state page that change with the modules.
type tablePointers struct{ modules, count, rules, cache, memo uint64 }

// path is the file of the module at an address, for any goroutine.
func (t *tables) path(a addr.Run) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.mods {
		if m.module.Low <= a && a < m.module.High {
			return m.module.Path
		}
	}
	return ""
}

// rule is the number of the rule at a run address of a module.
func (t *tables) rule(a addr.Run) uint16 {
	for _, m := range t.mods {
		if f := a.File(m.bias); m.low <= f && f < m.high {
			return m.table.At(f)
		}
	}
	return ruleNoMod
}
