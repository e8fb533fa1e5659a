package screen

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"hdb/console/line"
	"hdb/heap"
)

// monitorExample is a view of four functions, two of them in each of two threads.
func monitorExample() *Monitor {
	row := func(name string, tid int32, own, total MonitorSum) MonitorRow {
		then := own
		then.LiveBytes -= min(then.LiveBytes, uint64(len(name))*512)
		return MonitorRow{Key: MonitorKey{TID: tid, Function: int32(len(name))}, Site: heap.Site{Function: name, File: "/src/" + name + ".c", Module: "prog"}, Own: own, Total: total, Base: MonitorSum{LiveBytes: 1 << 10}, From: then, To: own}
	}
	sum := func(n uint64) MonitorSum {
		return MonitorSum{LiveBytes: n * 1024, LiveCount: n, Bytes: n * 2048, Count: 2 * n, Temporary: n / 2}
	}
	return &Monitor{
		Program: "/bin/prog -v", PID: 4711, Elapsed: 12300 * time.Millisecond, Events: 1234567, Rate: 4321, Live: 30 << 10, Blocks: 30, Peak: 1 << 20, RSS: 5 << 20,
		Span: 2 * time.Second, Since: 9 * time.Second,
		Threads: map[int32]string{1: "1 main", 2: "2 worker"},
		Columns: func(n int) []uint64 {
			out := make([]uint64, n)
			for i := range out {
				out[i] = uint64(i)
			}
			return out
		},
		Rows: []MonitorRow{
			row("main", 1, MonitorSum{}, sum(30)), row("parse", 1, sum(20), sum(20)), row("load", 2, sum(4), sum(10)),
			row("read", 2, sum(6), sum(6)), row("churn", 1, MonitorSum{Bytes: 900, Count: 9, Temporary: 9}, MonitorSum{Bytes: 900, Count: 9, Temporary: 9}),
		},
	}
}

// functions are the names of the rows that a view shows.
func (v *Monitor) functions(t *testing.T) string {
	t.Helper()
	var names []string
	for i, line := range v.Lines(&Output{}, 20, 100) {
		if bad := badRow(line, 100); bad != "" && !strings.Contains(line, "\x1b[7m") {
			t.Fatalf("row %d: %s: %q", i, bad, line)
		}
		line = strings.NewReplacer("\x1b[7m", "", "\x1b[0m", "").Replace(line) // the row of the cursor
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasSuffix(fields[len(fields)-1], ".c") {
			names = append(names, fields[len(fields)-2])
		}
	}
	return strings.Join(names, " ")
}

func TestMonitorKeys(t *testing.T) {
	v := monitorExample()
	for _, tc := range []struct{ keys, want, shows string }{
		{"", "parse read load main", "live, by own"},
		{"s", "main parse load read", "live, by total"},
		{"s", "parse read load main", "live, by change"},
		{"s", "parse read load main", "live, by rate"},
		{"s", "load main parse read", "live, by name"},
		{"s4", "parse churn read load main", "temporary, by own"},
		{"2", "parse read load churn main", "bytes, by own"},
		{"3", "parse read churn load main", "count, by own"},
		{"m", "parse churn read load main", "temporary, by own"},
		{"m", "parse read load main", "live, by own"},
		{"/PA", "parse", `live, by own, with "PA"`},
		{"\x7f\x7fad\r", "read load", `with "ad"`},
		{"q/x\x1b", "read load", `with "ad"`}, // q ends; the filter that was begun is none
		{"\x1b", "parse read load main", "live, by own"},
		{"t", "parse read load main", "per thread"},
		{"/work\n", "read load", `with "work"`},
		{"/\x15\n", "parse read load main", "per thread"},
		{"fre\n", "read", `function "re"`},
		{"Mprog\n", "read", `function "re", module "prog"`},
		{"f\x15.c\n", "", `no function's name, file or module contains that`},
		{"\x1bMpr\n", "parse read load main", `module "pr"`},
		{"\x1b?", "", "any key goes back"},
		{"x", "parse read load main", "per thread"},
		{"t j\x1b[B", "parse read load main", "PAUSED"},
		{" ", "parse read load main", "running"},
		{"\x1b[5~\x1b[6~\x1b[H\x1bOF?\x00\x1b[99;99u\x1b[", "parse read load main", ""},
	} {
		for _, k := range line.SplitKeys([]byte(tc.keys)) {
			if act := v.Key(k); (act == ActQuit) != (k == "q" && !v.typing) {
				t.Errorf("%q: %q is %d", tc.keys, k, act)
			}
		}
		if got := v.functions(t); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.keys, got, tc.want)
		}
		if text := strings.Join(v.Lines(&Output{}, 20, 100), "\n"); !strings.Contains(text, tc.shows) {
			t.Errorf("%q: %q is not in\n%s", tc.keys, tc.shows, text)
		}
	}
	for _, k := range []string{"q", "Q", "\x03", "\x04"} {
		if v.Key(k) != ActQuit {
			t.Errorf("%q does not end", k)
		}
	}
	v.Key("/")
	for range 1000 {
		v.Key("ü")
	}
	if len(v.filters[filterAny]) > maxFilter+1 {
		t.Errorf("a filter of %d bytes", len(v.filters[filterAny]))
	}
	if v.Key("q") == ActQuit || v.Key("\x03") != ActQuit {
		t.Error("Ctrl-C alone ends while a filter is typed")
	}
}

func TestMonitorNumbers(t *testing.T) {
	v := monitorExample()
	lines := v.Lines(&Output{}, 14, 110)
	for i, want := range []string{
		"pid 4711  12.3 s  running  /bin/prog -v",
		"live 30.0 KiB in 30 blocks   peak 1.0 MiB   RSS 5.0 MiB",
		"1,234,567 events  4,321/s  change over 9.0 s",
		" 92 B", "4 rows   live, by own", "       >own     %      total     %      change       per s     blocks  function",
		"   20.0 KiB  66.7   20.0 KiB  66.7   +19.0 KiB    +1.2 KiB         20  parse  parse.c",
		"    6.0 KiB  20.0    6.0 KiB  20.0    +5.0 KiB    +1.0 KiB          6  read  read.c",
		"    4.0 KiB  13.3   10.0 KiB  33.3    +3.0 KiB    +1.0 KiB          4  load  load.c",
		"        0 B   0.0   30.0 KiB 100.0    -1.0 KiB        +0 B          0  main  main.c",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if !strings.Contains(lines[3], "▁") || !strings.Contains(lines[3], "█ ") {
		t.Errorf("the heap over time is %q", lines[3])
	}
	v.ASCII, v.Ended, v.Lost = true, "process 4711 exited with code 0", 3
	lines = v.Lines(&Output{}, 14, 110)
	if strings.ContainsAny(lines[3], "▁▂█") || !strings.Contains(lines[3], "# ") || !strings.Contains(lines[0], "exited with code 0  /bin") || !strings.Contains(lines[2], "3 lost") {
		t.Errorf("at the end\n%s", strings.Join(lines, "\n"))
	}
	if v.Rows = nil; !strings.Contains(strings.Join(v.Lines(&Output{}, 14, 110), "\n"), "nothing to show") {
		t.Error("no rows are not told of")
	}
	if v.Events = 0; !strings.Contains(strings.Join(v.Lines(&Output{}, 14, 110), "\n"), "nothing was allocated yet") {
		t.Error("no events are not told of")
	}
	v.Unfollowed = true
	if text := strings.Join(v.Lines(&Output{}, 14, 110), "\n"); !strings.Contains(text, "live not known") || !strings.Contains(text, "no allocator function is known") || strings.Contains(text, "0 blocks") {
		t.Errorf("no allocator is known:\n%s", text)
	}
}

// What a row stands for is gone into, and out of, with the place that one was at.
func TestMonitorGoesIn(t *testing.T) {
	v := monitorExample()
	v.Lines(&Output{}, 20, 100)
	v.Key("\x1b[B")
	v.Lines(&Output{}, 20, 100)
	if act := v.Key("\r"); act != ActRows || len(v.Path()) != 1 || v.Path()[0] != (MonitorKey{Function: 4}) {
		t.Fatalf("Enter: %d, path %v", act, v.Path())
	}
	v.Rows = []MonitorRow{{Key: MonitorKey{Function: 4, Line: 7}, Site: heap.Site{Function: "read", File: "/src/read.c", Line: 7}, Own: MonitorSum{LiveBytes: 5, LiveCount: 1}, Total: MonitorSum{LiveBytes: 5, LiveCount: 1}}}
	if text := strings.Join(v.Lines(&Output{}, 20, 100), "\n"); !strings.Contains(text, "lines of read   1 row") || !strings.Contains(text, "read  read.c:7") {
		t.Errorf("lines:\n%s", text)
	}
	v.Key("\r")
	v.Rows = []MonitorRow{{Key: MonitorKey{Function: -1}, Site: heap.Site{Function: "(no caller)"}, Total: MonitorSum{LiveBytes: 5, LiveCount: 1}}}
	if text := strings.Join(v.Lines(&Output{}, 20, 100), "\n"); !strings.Contains(text, "callers of read:7   1 row") || !strings.Contains(text, "(no caller)") {
		t.Errorf("callers:\n%s", text)
	}
	if act := v.Key("\r"); act != ActNone || len(v.Path()) != 2 {
		t.Errorf("into no caller: %d, path %v", act, v.Path())
	}
	v.Rows = monitorExample().Rows
	if v.Key("\x7f") != ActRows || v.Key("\x1b") != ActRows || v.Key("\x7f") != ActNone || len(v.Path()) != 0 || v.cursor != 1 {
		t.Errorf("out of it: path %v, cursor at %d", v.Path(), v.cursor)
	}
}

// However many rows there are, a picture is quick, and the cursor stays in it.
func TestMonitorManyRows(t *testing.T) {
	v := monitorExample()
	v.Rows = nil
	for i := range 50000 {
		n := uint64(i)
		v.Rows = append(v.Rows, MonitorRow{Key: MonitorKey{Function: int32(i)}, Site: heap.Site{Function: fmt.Sprint("f", i), File: "a.c"}, Own: MonitorSum{LiveBytes: n + 1, LiveCount: 1}, Total: MonitorSum{LiveBytes: n + 1, LiveCount: 1}})
	}
	for _, k := range []string{"\x1b[F", "\x1b[6~", "\x1b[5~", "\x1b[A", "\x1b[B", "\x1b[H", "\x1b[6~", "G"} {
		v.Key(k)
		lines := v.Lines(&Output{}, 30, 40)
		if at := v.cursor - v.top; at < 0 || at >= v.page || !strings.Contains(lines[headerRows+1+at], "\x1b[7m") {
			t.Fatalf("%q: cursor %d, rows %d to %d", k, v.cursor, v.top, v.top+v.page)
		}
	}
	if v.Key("\r"); v.cursor != 0 || len(v.Path()) != 1 || v.Path()[0].Function != 0 {
		t.Errorf("into the last row: %v", v.Path())
	}
}

// Names from outside, and terminals of any size, leave the screen whole.
func TestMonitorHostile(t *testing.T) {
	v := monitorExample()
	v.PerThread, v.Note, v.Message = true, "a note\x1b[2J", "a\nmessage\x1b]0;x\x07"
	v.Program = strings.Join(hostileLines, " ")
	for i, text := range hostileLines {
		v.Threads[int32(i+10)] = text
		v.Rows = append(v.Rows, MonitorRow{
			Site: heap.Site{Function: text, File: text, Module: text, Linkage: text}, Key: MonitorKey{TID: int32(i + 10)},
			Own: MonitorSum{LiveBytes: ^uint64(0), LiveCount: ^uint64(0), Bytes: 1, Count: 1}, Total: MonitorSum{LiveBytes: ^uint64(0), LiveCount: ^uint64(0), Count: 1},
		})
	}
	for _, o := range []*Output{{}, {Color: true, Theme: ThemeNamed("dark")}} {
		for _, width := range []int{minMonitorCols, 51, 80, 131, 1000} {
			for _, height := range []int{minMonitorRows, 11, 24, 300} {
				for _, top := range []int{-5, 0, 7, 1 << 40} {
					v.top, v.cursor = top, top/2
					lines := v.Lines(o, height, width)
					if len(lines) != height {
						t.Fatalf("%d lines of %d", len(lines), height)
					}
					for i, line := range lines {
						if bad := badRow(line, width); bad != "" {
							t.Fatalf("%d by %d, line %d: %s: %q", height, width, i, bad, line)
						}
					}
				}
			}
		}
	}
}

func FuzzMonitorKeys(f *testing.F) {
	f.Add([]byte("/abc\rs4t \x1b[A\x1bOB\x1b[1;5C\x03"))
	f.Add([]byte("\x1b[\xff\xfe\x1b"))
	f.Fuzz(func(t *testing.T, typed []byte) {
		keys := line.SplitKeys(typed)
		if strings.Join(keys, "") != string(typed) {
			t.Fatalf("%q is cut into %q", typed, keys)
		}
		v := monitorExample()
		for _, k := range keys {
			v.Key(k)
		}
		for _, line := range v.Lines(&Output{}, 12, 60) {
			if bad := badRow(line, 60); bad != "" {
				t.Fatalf("%s: %q", bad, line)
			}
		}
	})
}

// What is kept back while the view is open does not grow without end.
func TestNoticesKeptBack(t *testing.T) {
	var n Notices
	var b strings.Builder
	n.Hold()
	for i := range 3000 {
		n.Print(&b, fmt.Sprintf("line %d\n", i))
	}
	if got := n.Latest(); got != "line 2999" {
		t.Errorf("the latest is %q", got)
	}
	n.Release()
	if got := b.String(); !strings.HasSuffix(got, "line 998\n(2,000 messages left out)\nline 2999\n") || strings.Count(got, "\n") != maxLate+1 {
		t.Errorf("%d lines, the last are %q", strings.Count(got, "\n"), got[len(got)-80:])
	}
	n.Print(io.Discard, "x")
	if n.Latest() != "" {
		t.Error("nothing is kept back any more")
	}
}

func TestBlockElements(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false}, {map[string]string{"LANG": "C.UTF-8"}, true}, {map[string]string{"LANG": "de_DE.utf8"}, true},
		{map[string]string{"LC_ALL": "C", "LANG": "C.UTF-8"}, false}, {map[string]string{"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}, true},
	} {
		if got := BlockElements(func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%v: %t", tc.env, got)
		}
	}
}
