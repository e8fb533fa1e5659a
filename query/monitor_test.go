package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// TestMonitorCallers goes into a function: its lines, the callers of a line, and theirs.
func TestMonitorCallers(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc := log.FuncIndex("malloc")
	add := func(size uint64, pcs ...addr.Run) {
		id := log.Intern(capture.Stack{PCs: pcs})
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000 * uint64(log.Len()+1), Size: size, Stack: id, TID: 7})
	}
	add(1, 0x100, 0x200, 0x900)
	add(10, 0x100, 0x300, 0x900)
	add(100, 0x200, 0x900)
	r := &Recording{Source: log, Names: fakeNames{}, Attribution: defaults()}
	m := NewMonitor(r, log, func() uint64 { return 3 })
	if err := m.Update(); err != nil || !m.Name(0, func(f func()) { f() }) {
		t.Fatal(err)
	}
	text := func(rows []MonitorRow) string {
		slices.SortFunc(rows, func(a, b MonitorRow) int { return cmp.Compare(a.Site.Function, b.Site.Function) })
		var all []string
		for _, r := range rows {
			all = append(all, fmt.Sprintf("%s:%d %d/%d", r.Site.Function, r.Site.Line, r.Own.LiveBytes, r.Total.LiveBytes))
		}
		return strings.Join(all, " ")
	}
	key := func(name string) MonitorKey {
		for _, r := range m.Rows() {
			if r.Site.Function == name {
				return r.Key
			}
		}
		t.Fatalf("no row %s", name)
		return MonitorKey{}
	}
	line := func(name string, n int32) MonitorKey { return MonitorKey{Function: key(name).Function, Line: n} }
	for _, tc := range []struct {
		path []MonitorKey
		want string
	}{
		{[]MonitorKey{key("f1")}, "f1:1 11/11"},
		{[]MonitorKey{key("f2")}, "f2:2 100/101"},
		{[]MonitorKey{key("f1"), line("f1", 1)}, "f2:2 1/1 f3:3 10/10"},
		{[]MonitorKey{key("f1"), line("f1", 1), line("f3", 3)}, "f9:9 10/10"},
		{[]MonitorKey{key("f1"), line("f1", 1), line("f3", 3), line("f9", 9)}, "(no caller):0 10/10"},
		{[]MonitorKey{key("f1"), line("f1", 5)}, ""},
	} {
		if got := text(m.Callers(tc.path)); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.path, got, tc.want)
		}
	}
}

// TestMonitorThreadBase keeps what threads had at the event from which changes count.
func TestMonitorThreadBase(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc := log.FuncIndex("malloc")
	id := log.Intern(capture.Stack{PCs: []addr.Run{0x100}})
	add := func(tid int32, size uint64) {
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000 * uint64(log.Len()+1), Size: size, Stack: id, TID: tid})
	}
	m := NewMonitor(&Recording{Source: log, Names: fakeNames{}, Attribution: defaults()}, log, func() uint64 { return uint64(log.Len()) })
	if err := m.Update(); err != nil || !m.Name(0, func(f func()) { f() }) {
		t.Fatal(err)
	}
	live := func(rows []MonitorRow) string {
		var all []string
		for _, r := range rows {
			all = append(all, fmt.Sprintf("%d:%d", r.Key.TID, r.Own.LiveBytes))
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		base, to    uint64
		rows, based string
	}{
		{0, 0, "", ""},
		{0, 2, "1:10 2:100", ""},
		{3, 4, "1:11 2:200", "1:11 2:100"},
		{3, 5, "1:11 2:1200", "1:11 2:100"},
		{5, 5, "1:11 2:1200", "1:11 2:1200"},
	} {
		if step.to == 2 {
			add(1, 10)
			add(2, 100)
			add(1, 1)
			add(2, 100)
			add(2, 1000)
		}
		if !m.CountThreads(step.base, step.to) || live(m.ThreadRows()) != step.rows || live(m.ThreadBase()) != step.based {
			t.Errorf("from #%d to #%d: %s since %s, want %s since %s", step.base, step.to, live(m.ThreadRows()), live(m.ThreadBase()), step.rows, step.based)
		}
	}
}
