package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// writeCapture writes a small capture: of n blocks every second one is freed.
func writeCapture(t *testing.T, path string, n int) {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/usr/bin/prog", Args: []string{"secret"}, PID: 42, Start: time.Unix(1e9, 0), Arch: "x86_64"})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	id := log.Intern(capture.Stack{PCs: []addr.Run{0x1000, 0x2000}})
	log.AddThread(capture.Thread{TID: 42, Num: 1, Name: "prog"})
	for i := range n {
		e := capture.Event{Kind: capture.Alloc, Func: malloc, Addr: uint64(0x10000 + 32*i), Size: 24, TID: 42, Stack: id, Time: time.Duration(i) * time.Millisecond}
		log.AddEvent(&e)
		if i%2 == 1 {
			e.Kind, e.Func, e.Size, e.Ended = capture.Free, free, 0, capture.Ended{Size: 24, Stack: id, Recorded: true}
			log.AddEvent(&e)
		}
	}
	log.AddMark(capture.MarkRecord{Seq: uint64(n), Name: "middle"})
	if err := file.Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
}

// cutInEvents cuts a capture off within a chunk of events that is not its first.
func cutInEvents(t *testing.T, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := st.Size() - 1; at > 0; at-- {
		if err := os.Truncate(path, at); err != nil {
			t.Fatal(err)
		}
		f, err := file.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		var d *capture.DamageError
		if errors.As(f.Damage(), &d) && d.Missing > 0 && d.Events > 0 {
			return
		}
	}
	t.Fatal("no chunk of events is the second")
}

func TestCaptureCommands(t *testing.T) {
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "a.hdb"), filepath.Join(dir, "cut.hdb")
	writeCapture(t, whole, 100)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, b[:len(b)-40], 0o666); err != nil {
		t.Fatal(err)
	}
	half, none := filepath.Join(dir, "half.hdb"), filepath.Join(dir, "none.hdb")
	writeCapture(t, half, 140_000)
	cutInEvents(t, half)
	if err := os.WriteFile(none, b[:100], 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.hdb")
	if err := os.Symlink(whole, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args, out string
		code      int
	}{
		{"--help", "merge", 0},
		{"info A", "150 events", 0}, {"check A", "whole, 150 events", 0}, {"check A C", "cut.hdb: cut off: complete up to event #150", 1},
		{"info C", "damage", 0}, {"info D/none", "", 4}, {"check D/none", "", 4},
		{"repair C -o D/r.hdb", "D/r.hdb: 150 events", 0}, {"check D/r.hdb", "whole, 150", 0},
		{"repair C -o D/r.hdb", "exists already", 4}, {"repair C -f -o D/r.hdb", "", 0}, {"repair Z -o D/z.hdb", "no event can be read", 1}, {"info D/z.hdb", "no such file", 4}, {"check H", "at least", 1}, {"repair H -o D/h.hdb", "; at least ", 0}, {"check D/h.hdb", "partial: the file was not closed", 0}, {"info D/h.hdb", "may be missing", 0}, {"repair C -f -o C", "also the input", 4},
		{"repair A -f -o L", "also the input", 4}, {"repair A -o D/none/x", "cannot be made", 4},
		{"trim A --from middle --to=#120 -o D/t.hdb", "21 events", 0}, {"check D/t.hdb", "whole, 21", 0},
		{"trim A --from 10ms --to 50% -o D/u.hdb", "events", 0}, {"check D/u.hdb", "whole", 0}, {"trim A --from peak -o D/v.hdb", "", 0},
		{"trim A --from nonsense -o D/w.hdb", "not a moment", 1}, {"trim A --from #1000 -o D/w.hdb", "#1000: not among the 150", 1}, {"trim A --from end -o D/w.hdb", "no event is left", 1}, {"trim A --from 1h -o D/w.hdb", "1h: the last event is earlier, at ", 1},
		{"merge A A D/r.hdb -o D/m.hdb", "450 events", 0}, {"check D/m.hdb", "whole, 450", 0},
		{"anonymize A -o D/n.hdb", "150 events", 0}, {"check D/n.hdb", "whole", 0},
		{"", "a verb must follow", 2}, {"bogus A", "no such verb", 2}, {"info", "must follow", 2}, {"info A A", "one capture", 2}, {"info --from 1s A", "another verb", 2},
		{"trim A -o D/x", "--from or --to", 2}, {"repair A", "-o FILE", 2}, {"merge A -o D/x", "two captures", 2}, {"info --bogus A", "no such flag", 2}, {"repair A -o", "value missing", 2},
	} {
		args := strings.Fields(strings.NewReplacer("A", whole, "C", cut, "D/", dir+"/", "L", link, "H", half, "Z", none).Replace("capture " + tc.args))
		var out, errw bytes.Buffer
		code := run(args, os.Stdin, &out, &errw)
		text := out.String() + errw.String()
		if code != tc.code || !strings.Contains(text, strings.ReplaceAll(tc.out, "D/", dir+"/")) {
			t.Errorf("hdb %s: exit %d, want %d with %q:\n%s", tc.args, code, tc.code, tc.out, text)
		}
	}
	if now, err := os.ReadFile(whole); err != nil || !bytes.Equal(now, b) {
		t.Errorf("the capture was changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// aggregate is a capture of sums alone.
func aggregate(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := file.NewWriter(&b, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	w.Bound(file.Bound{Aggregate: true})
	capturetest.Fill(capturetest.NewFollowing(w, 100), 1, 1000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCaptureCheckOfCuts has hdb capture check tell a capture that only lacks its end from a damaged one.
func TestCaptureCheckOfCuts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hdb")
	writeCapture(t, path, 100)
	f, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := f.Parts()
	f.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(parts, func(p file.Part) bool { return p.Kind == "the index" })
	index := len(whole) - int(parts[at].Bytes) // the last chunk
	sums := aggregate(t)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 0xff
	for _, c := range []struct {
		file []byte
		want string
	}{
		{whole[:len(whole)-40], "cut off: complete up to event #150, 99.000 ms\n"},
		{whole[:index], "not closed: complete up to event #150, 99.000 ms\n"},
		{whole[:len(whole)-1], "cut off: complete up to event #150, 99.000 ms\n"},
		{whole[:100], "cut off before the first event\n"},
		{sums[:len(sums)-40], "cut off: sums of 1,000 events\n"},
		{damaged, "damaged or wrong\n"},
		{damaged[:len(whole)-40], "damaged or wrong\n"},
	} {
		if err := os.WriteFile(path, c.file, 0o666); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if code := captureCheck([]string{path}, &out, &out); code != 1 || !strings.HasPrefix(out.String(), path+": "+c.want) {
			t.Errorf("exit code %d, want 1 and %q in\n%s", code, c.want, &out)
		}
	}
}

func TestCaptureInfoJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hdb")
	writeCapture(t, path, 100)
	var out, errw bytes.Buffer
	if code := run([]string{"capture", "info", "--json", path}, os.Stdin, &out, &errw); code != 0 {
		t.Fatalf("exit %d: %s", code, &errw)
	}
	var got captureSummary
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	sum := int64(16)
	for _, p := range got.Parts {
		sum += p.Bytes
	}
	if sum != got.Bytes || got.Events != 150 || got.First != 1 || got.Last != 150 || got.Totals.Bytes != 2400 || len(got.Marks) != 1 || got.PID != 42 {
		t.Errorf("%+v", got)
	}
}
