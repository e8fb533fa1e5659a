package probe

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// modulesAt reads the list of modules that publish has written.
func modulesAt(tb *tables, at uint64, n uint64) []string {
	var list []string
	for i := range n {
		e := tb.shared.file[at-uint64(tb.at)+i*modSize:]
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(e[at:]) }
		offs := tb.shared.file[word(moOffs)-uint64(tb.at):]
		ids := tb.shared.file[word(moIDs)-uint64(tb.at):]
		var rows []string
		for r := range word(moRows) {
			rows = append(rows, fmt.Sprintf("%#x:%d", binary.LittleEndian.Uint32(offs[4*r:]), binary.LittleEndian.Uint16(ids[2*r:])))
		}
		list = append(list, fmt.Sprintf("%#x+%#x %s", word(moLow), word(moLen), strings.Join(rows, " ")))
	}
	return list
}

func TestTables(t *testing.T) {
	const at = addr.Run(0x600000000000)
	tb, err := newTables(newShared(t), at)
	if err != nil {
		t.Fatal(err)
	}
	rule := tb.rules.ID(cfi.NewRule(cfi.SP, 24, 0, 0, 0))
	place := func(low, high addr.File, rows ...uint32) placed {
		table := &cfi.Table{Low: low}
		for i, r := range rows {
			table.Offs, table.IDs = append(table.Offs, r), append(table.IDs, []uint16{cfi.NoCFIID, rule}[i%2])
		}
		p, err := tb.place(table, high)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	lib := place(0x1000, 0x9000, 0, 0x40, 0x80)
	tb.mods = append(tb.mods, tableOf{inferior.Module{Path: "/a", Low: 0x7f0000000000}, 0x7f0000000000, lib})
	tb.mods = append(tb.mods, tableOf{inferior.Module{Path: "/a2", Low: 0x7e0000000000}, 0x7e0000000000, lib}) // the same file once more
	if err := tb.setOwn([]ownTable{{&cfi.Table{Low: 0x500000, Offs: []uint32{0}, IDs: []uint16{rule}}, 0x500100}}); err != nil {
		t.Fatal(err)
	}
	first, err := tb.publish(true)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0x500000+0x100 0x0:6", "0x7f0000001000+0x8000 0x0:0 0x40:6 0x80:0", "0x7e0000001000+0x8000 0x0:0 0x40:6 0x80:0"}
	if got := modulesAt(tb, first.modules, first.count); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := binary.LittleEndian.Uint64(tb.shared.file[fileRules+8*int(rule):]); got != uint64(cfi.NewRule(cfi.SP, 24, 0, 0, 0)) {
		t.Errorf("rule %d is %#x", rule, got)
	}
	for a, id := range map[addr.Run]uint16{0x7f0000001040: rule, 0x7f000000103f: cfi.NoCFIID, 0x7e0000001041: rule, 0x7d0000001040: ruleNoMod,
		0x7f0000009000: ruleNoMod, 0x7f0000008fff: cfi.NoCFIID} {
		if got := tb.rule(a); got != id {
			t.Errorf("rule at %v is %d, want %d", a, got, id)
		}
	}

	// With fresh, what threads still use of the old is left alone for a while.
	tb.shared.file[first.cache-uint64(at)] = 1
	tb.shared.file[first.memo-uint64(at)] = 1
	if !tb.drop(func(m inferior.Module) bool { return m.Path == "/a" }) || tb.drop(func(m inferior.Module) bool { return m.Path == "/b" }) {
		t.Error("drop says otherwise")
	}
	second, err := tb.publish(true)
	if err != nil {
		t.Fatal(err)
	}
	if second.modules == first.modules || second.cache == first.cache || second.memo == first.memo {
		t.Errorf("%+v, then %+v", first, second)
	}
	if got := modulesAt(tb, second.modules, second.count); len(got) != 2 || !strings.Contains(got[1], "0x7e") {
		t.Errorf("%q", got)
	}
	if got := modulesAt(tb, first.modules, first.count); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the old list is now %q", got)
	}
	if tb.shared.file[first.cache-uint64(at)] != 1 || tb.shared.file[second.cache-uint64(at)] != 0 {
		t.Error("caches were mixed up")
	}
	third, err := tb.publish(false)
	if err != nil || third != second {
		t.Errorf("not fresh: %+v, then %+v, %v", second, third, err)
	}
	for range numCaches - 1 {
		if _, err := tb.publish(true); err != nil {
			t.Fatal(err)
		}
	}
	if tb.shared.file[first.cache-uint64(at)] != 0 || tb.shared.file[first.memo-uint64(at)] != 0 {
		t.Error("an old cache is used again without being emptied")
	}
}

func TestTablesAreFull(t *testing.T) {
	tb, err := newTables(newShared(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	tb.end = fileTables + tablesSize - 8
	if _, err := tb.place(&cfi.Table{Offs: []uint32{0}, IDs: []uint16{0}}, 1); err != nil {
		t.Error(err)
	}
	if _, err := tb.place(&cfi.Table{Offs: []uint32{0}, IDs: []uint16{0}}, 1); err == nil {
		t.Error("no error when the tables are full")
	}
	tb.mods = make([]tableOf, maxModules+1)
	if _, err := tb.publish(true); err == nil {
		t.Error("no error for too many modules")
	}
}

// Arming again and again takes room only for code that is new.
func TestOwnTablesTakeRoomOnce(t *testing.T) {
	tb, err := newTables(newShared(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	own := ownTable{&cfi.Table{Low: 0x500000, Offs: []uint32{0}, IDs: []uint16{1}}, 0x500100}
	set := func() uint64 {
		t.Helper()
		if err := tb.setOwn([]ownTable{own}); err != nil {
			t.Fatal(err)
		}
		return tb.end
	}
	end := set()
	own.high = 0x500200
	if again := set(); again != end || tb.own[0].high != 0x500200 {
		t.Errorf("the same table ends at %#x, before at %#x; covers up to %v", again, end, tb.own[0].high)
	}
	own.table = &cfi.Table{Low: 0x500000, Offs: []uint32{0, 16}, IDs: []uint16{1, 2}}
	if again := set(); again == end || tb.own[0].rows != 2 {
		t.Errorf("a table that grew was not written: %d rows", tb.own[0].rows)
	}
}
