package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/testprogs/node"
)

// A query has an answer: its rows, with spaces between the columns.
type query struct{ sql, want string }

// duckdb asks DuckDB about the tables in dir, by their names.
func duckdb(t *testing.T, dir string, queries []query) {
	t.Helper()
	var all []string
	for _, table := range []string{"runs", "modules", "frames", "stacks", "marks", "samples", "events"} {
		all = append(all, fmt.Sprintf("create view %s as select * from read_parquet('%s/%s/**/*.parquet', hive_partitioning = true)", table, dir, table))
	}
	views := len(all)
	for _, q := range queries {
		all = append(all, q.sql)
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var answers [][][]*string
	if err := json.Unmarshal(node.Run(t, in, "duckdb.mjs"), &answers); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		var rows []string
		for _, row := range answers[views+i] {
			var columns []string
			for _, c := range row {
				if c == nil {
					c = new(string)
					*c = "NULL"
				}
				columns = append(columns, *c)
			}
			rows = append(rows, strings.Join(columns, " "))
		}
		if got := strings.Join(rows, "; "); got != q.want {
			t.Errorf("%s\n got %s\nwant %s", q.sql, got, q.want)
		}
	}
}

// TestParquetLeavesNothing has the last table fail, in a folder that is there and in new
// ones.
func TestParquetLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runs"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteParquet(dir, testRecording()); err == nil {
		t.Error("written in the place of a file")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	made := filepath.Join(dir, "new", "er")
	d := &dataset{dir: made, r: testRecording()}
	if _, err := d.create("events"); err != nil {
		t.Fatal(err)
	}
	if d.discard(); len(d.files) != 1 || len(d.made) == 0 {
		t.Errorf("files %q and folders %q were made", d.files, d.made)
	}
	if _, err := os.Stat(filepath.Dir(made)); err == nil {
		t.Errorf("%s is left behind", filepath.Dir(made))
	}
}

func TestParquet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // the second time replaces the first
		if err := WriteParquet(dir, testRecording()); err != nil {
			t.Fatal(err)
		}
	}
	const run = "../a b/ü=%/4711/20261121T235959.250000Z"
	duckdb(t, dir, []query{
		{"select count(*), sum(size) filter (makes), count(*) filter (failed), max(size) from events", "9 1650 1 18446744073709551615"},
		{"select kind, function, count(*) from events group by all order by all", "alloc malloc 5; free free 1; map mmap 1; mark  1; realloc realloc 1"},
		{"select distinct run, host, date from events", run + " ../a b/ü=% 2026-11-21"},
		{"select time, elapsed_us, addr, old, aux, thread from events where seq in (3, 5)", "2026-11-21 23:59:59.25003+00 30 140737488351232 NULL NULL w\x00\uFFFD; 2026-11-21 23:59:59.25005+00 50 12288 4096 NULL main"},
		// Live at the end of the first program, and of the last.
		{"select exec, sum(if(makes, size, 0)) - sum(ended_size) from events group by exec order by exec", "0 1300; 1 50"},
		{"select live_bytes, live_blocks, peak_bytes, blocks, bytes, events, failed, lost, execs, damage from runs", "50 1 1300 5 1650 9 1 2 1 a chunk is missing"},
		// Lifetimes.
		{"select a.seq, f.elapsed_us - a.elapsed_us from events f join events a on f.run = a.run and f.ended_seq = a.seq order by 1", "1 40; 2 20"},
		// By function, each once for a stack.
		{`select f.function, sum(e.size) from events e
			join (select distinct run, stack, frame from stacks) s using (run, stack) join frames f using (run, frame)
			where e.makes group by f.function order by 2 desc, 1`,
			"main 1600; malloc 1600; 0xffffffffffffffff 500; parse<std::vector<int> >(char const*) 500"},
		{"select stack, depth, frame, truncated from stacks order by stack, depth", "1 0 0 NULL; 1 1 2 NULL; 2 0 0 bad\uFFFD\x00CFI; 2 1 1 bad\uFFFD\x00CFI; 2 2 2 bad\uFFFD\x00CFI; 2 3 3 bad\uFFFD\x00CFI; 3 0 NULL lost"},
		{"select function, file, line, address, module, inlined, known, guess, library from frames where frame in (1, 3) order by frame", "parse<std::vector<int> >(char const*) /src/a \"b\"\n.cc 12 16384 0 true true false false; 0xffffffffffffffff NULL NULL 18446744073709551615 NULL false false true false"},
		{"select f.frame, m.path from frames f left join modules m using (run, module) order by 1", "0 /lib/libc.so.6; 1 /bin/\uFFFDdemo; 2 /bin/\uFFFDdemo; 3 NULL"},
		{"select path, build_id, low, high, from_seq, to_seq from modules order by module", "/bin/\uFFFDdemo abcd 16384 20480 1 NULL; /lib/libc.so.6 NULL 20480 24576 1 9"},
		{"select seq, elapsed_us, name from marks", "8 80 ready"},
		{"select elapsed_us, rss from samples", "85 1048576"},
		{"select program, pid, args[2], elapsed_us from runs", "/bin/\uFFFDdemo 4711 a'b\x1b[31m 90"},
	})
	left, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestParquetFleet puts several recordings into one set of tables, one of them
// empty and one of several groups of rows.
// TestStrayFreesHaveNoSize in a format that keeps every event: it is not known. A block of
// no bytes has one.
func TestStrayFreesHaveNoSize(t *testing.T) {
	r := testRecording()
	r.Events = func(yield func(Event) bool) {
		_ = yield(Event{Event: capture.Event{Seq: 1, Kind: capture.Free, Addr: 0x1000, Func: 1}}) &&
			yield(Event{Event: capture.Event{Seq: 2, Kind: capture.Free, Addr: 0x2000, Func: 1, Ended: capture.Ended{Recorded: true}}})
	}
	dir := t.TempDir()
	if err := WriteParquet(dir, r); err != nil {
		t.Fatal(err)
	}
	duckdb(t, dir, []query{{"select seq, size from events order by seq", "1 NULL; 2 0"}})
	var out bytes.Buffer
	if err := WriteNDJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, `"size":`) != 1 || !strings.Contains(text, `"addr":"0x2000","size":0,`) {
		t.Errorf("ndjson:\n%s", text)
	}
}

func TestParquetFleet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many := testRecording()
	many.Info.Host, many.Execs, many.Info.PID = "b", nil, 1
	const events = parquetGroup + 1000
	many.Events = func(yield func(Event) bool) {
		for i := range uint64(events) {
			if !yield(Event{Event: capture.Event{Seq: i + 1, Addr: 0x1000 + i*16, Size: i % 1000, Stack: capture.StackID(1 + i%2)}}) {
				return
			}
		}
	}
	for _, r := range []*Recording{testRecording(), emptyRecording(), many} {
		if err := WriteParquet(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	duckdb(t, dir, []query{
		{"select host, count(*) from events group by host order by host", fmt.Sprintf("../a b/ü=%% 9; b %d", events)},
		{"select count(*), sum(events) from runs", fmt.Sprintf("3 %d", events+9)},
		{"select sum(size), count(distinct addr) from events where host = 'b'", fmt.Sprintf("%d %d", sumModulo(events, 1000), events)},
		{"select live_bytes, events from runs where pid = 1 order by run", fmt.Sprintf("0 0; %d %d", sumModulo(events, 1000), events)},
		{"select count(*) from (select run, stack, size from events where makes) e join stacks s using (run, stack) where s.depth = 0", fmt.Sprint(events + 5)},
	})
}

func sumModulo(n, m int) (sum int) {
	for i := range n {
		sum += i % m
	}
	return sum
}

// TestParquetBroken leaves nothing behind when it cannot write all.
func TestParquetBroken(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runs"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteParquet(dir, testRecording()); err == nil {
		t.Fatal("no error where a table's folder is a file")
	}
	var left []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return err
	})
	if want := []string{"runs"}; err != nil || !reflect.DeepEqual(left, want) {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestHiveName(t *testing.T) {
	for in, want := range map[string]string{
		"":         "__HIVE_DEFAULT_PARTITION__",
		"web-1.x":  "web-1.x",
		"../a b":   "..%2Fa%20b",
		"a=b%\x00": "a%3Db%25%00",
	} {
		if got := hiveName(in); got != want {
			t.Errorf("hiveName(%q) = %q, want %q", in, got, want)
		}
	}
	if n := len("host=" + hiveName(strings.Repeat("ü", 1000))); n > 255 {
		t.Errorf("a name of %d bytes", n)
	}
}

// TestDocumentedQueries runs what docs/reports.md shows.
func TestDocumentedQueries(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := WriteParquet(dir, testRecording()); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, block := range strings.Split(string(doc), "```sql\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		queries = append(queries, strings.Split(strings.TrimSpace(strings.ReplaceAll(block, "'fleet/", "'"+dir+"/")), ";\n")...)
	}
	want := []string{
		"../a b/ü=% /bin/\uFFFDdemo 50 1300",
		"", // what the last program has was allocated without a stack
		"64 1 40; 128 1 20",
	}
	if len(queries) != len(want) {
		t.Fatalf("%d queries, want %d", len(queries), len(want))
	}
	var all []query
	for i, q := range queries {
		all = append(all, query{q, want[i]})
	}
	duckdb(t, dir, all)
	// Of the first program the second one has more to say.
	duckdb(t, dir, []query{{strings.Replace(queries[1], "where exec = execs", "where exec = 0", 1),
		"main /src/main.c 3 1000; parse<std::vector<int> >(char const*) /src/a \"b\"\n.cc 12 300"}})
}
