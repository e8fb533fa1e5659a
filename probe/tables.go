package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/internal/panics"
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
	known  map[tableKey]placed
	cache  *diskcache.Dir
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
	t := &tables{shared: s, at: at, rules: cfi.NewRules(), end: fileTables, known: map[tableKey]placed{}}
	if id := t.rules.ID(cfi.Rule(formNoModule)); id != ruleNoMod {
		return nil, fmt.Errorf("probe: the rule for code in no module is number %d, the core takes it for %d", id, ruleNoMod)
	}
	return t, nil
}

// A source is where the table of a module comes from.
type source struct {
	module    inferior.Module
	low, high addr.Run // of its code
	code      io.ReaderAt
	identity  string               // of its files, and how they are mapped; "" unknown
	cfi       func() *unwind.Table // its CFI; asked of the owner's goroutine only
}

// A tableKey is what a module's table depends on.
type tableKey struct {
	low, high addr.File
	identity  string
	cfi       *unwind.Table // without identity
}

// add compiles the CFI of modules, unless it was compiled before, in this process or for another
// one. report is called for modules that cannot be followed.
func (t *tables) add(list []source, report func(error)) {
	jobs := make([]*job, len(list))
	var wg panics.Group
	for i, s := range list {
		j := t.job(s)
		jobs[i] = j
		if _, ok := t.known[j.key]; !ok && j.own == nil {
			wg.Go(j.run)
		}
	}
	wg.Wait()
	// Rules are numbered in the order of the list, however long each took.
	for i, s := range list {
		p, err := t.placed(jobs[i])
		if err != nil {
			report(fmt.Errorf("%s: %w", s.module.Name, err))
			continue
		}
		t.mu.Lock()
		t.mods = append(t.mods, tableOf{s.module, s.module.Bias, p})
		t.mu.Unlock()
	}
}

// A job makes the table of one module, on any goroutine.
type job struct {
	key   tableKey
	cache *diskcache.Dir
	ask   func() *unwind.Table
	cfi   *unwind.Table
	code  io.ReaderAt
	own   *cfi.Own // from the disk, or what run made of cfi and code
	err   error
}

// tableKind is the kind of the files of kept tables; the number changes with their form.
const tableKind = "cfi5"

func (t *tables) job(s source) *job {
	j := &job{
		key:   tableKey{low: s.low.File(s.module.Bias), high: s.high.File(s.module.Bias), identity: s.identity},
		cache: t.cache, ask: s.cfi, code: biased{s.code, s.module.Bias},
	}
	if s.identity == "" {
		j.cfi = s.cfi()
		j.key.cfi = j.cfi
		return j
	}
	if _, ok := t.known[j.key]; !ok {
		if j.own, _ = cfi.Decode(t.cache.Get(tableKind, j.name()), j.key.low); j.own == nil {
			j.cfi = s.cfi()
		}
	}
	return j
}

// name is the key on disk.
func (j *job) name() string { return fmt.Sprintf("%v-%v\n%s", j.key.low, j.key.high, j.key.identity) }

func (j *job) run() {
	j.own, j.err = cfi.CompileOwn(j.cfi, j.key.low, j.key.high, j.code)
	if j.err == nil && j.key.identity != "" {
		j.cache.Put(tableKind, j.name(), j.own.Encode())
	}
}

// placed is the job's table in the memory file.
func (t *tables) placed(j *job) (placed, error) {
	p, ok := t.known[j.key]
	if ok || j.err != nil {
		return p, j.err
	}
	p, err := t.placeOwn(j.own, j.key.high)
	if err != nil && j.cfi == nil && !errors.Is(err, errNoRoom) { // what was kept is no table
		j.cfi = j.ask()
		if j.run(); j.err != nil {
			return p, j.err
		}
		p, err = t.placeOwn(j.own, j.key.high)
	}
	if err == nil && j.key != (tableKey{low: j.key.low, high: j.key.high}) {
		t.known[j.key] = p
	}
	return p, err
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

var errNoRoom = errors.New("no room for its unwinding table: its frames cannot be followed")

// room is where a table of that number of rows is placed next, and what hdb sees there.
func (t *tables) room(rows int) (p placed, offs []uint32, ids []uint16, err error) {
	p.offs = t.end
	p.ids = p.offs + 4*uint64(rows)
	if p.ids+2*uint64(rows) > fileTables+tablesSize {
		return p, nil, nil, errNoRoom
	}
	file := unsafe.Pointer(unsafe.SliceData(t.shared.file))
	return p, unsafe.Slice((*uint32)(unsafe.Add(file, p.offs)), rows), unsafe.Slice((*uint16)(unsafe.Add(file, p.ids)), rows), nil
}

// taken is a table that was put into a room.
func (t *tables) taken(p placed, table *cfi.Table, high addr.File) placed {
	p.table, p.rows, p.low, p.high = table, len(table.Offs), table.Low, high
	t.end = (p.ids + 2*uint64(p.rows) + 7) &^ 7
	return p
}

// place writes a table to the memory file.
func (t *tables) place(table *cfi.Table, high addr.File) (placed, error) {
	p, offs, ids, err := t.room(len(table.Offs))
	if err != nil {
		return p, err
	}
	copy(offs, table.Offs)
	copy(ids, table.IDs)
	return t.taken(p, table, high), nil
}

// placeOwn makes a table in the memory file, which is then looked up there.
func (t *tables) placeOwn(own *cfi.Own, high addr.File) (placed, error) {
	p, offs, ids, err := t.room(own.Rows())
	if err != nil {
		return p, err
	}
	table, err := own.Table(t.rules, offs, ids)
	if err != nil {
		return p, err
	}
	return t.taken(p, table, high), nil
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

// rule is the number of the rule at a run address of a module. The inferior's own code
// could have changed what is there: it is one of the numbers that there are.
func (t *tables) rule(a addr.Run) uint16 {
	for _, m := range t.mods {
		if f := a.File(m.bias); m.low <= f && f < m.high {
			if id := m.table.At(f); int(id) < len(t.rules.List()) {
				return id
			}
			return cfi.UnsupportedID
		}
	}
	return ruleNoMod
}
