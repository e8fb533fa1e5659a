package file

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
	"hdb/internal/golden"
)

// minimal is the example of docs/capture-format.md: a program that allocated
// twice and freed once.
func minimal(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, capture.Info{
		Program: "/bin/demo", PID: 42, Start: time.Unix(1000000000, 0), Arch: "x86_64",
	})
	if err != nil {
		t.Fatal(err)
	}
	malloc, free := w.FuncIndex("malloc"), w.FuncIndex("free")
	w.AddThread(capture.Thread{TID: 42, Num: 1, Name: "demo"})
	w.AddModule(capture.Module{Path: "/bin/demo", BuildID: "c0ffee", Bias: 0x555555554000, Low: 0x555555554000, High: 0x555555558000})
	stack := w.Intern(capture.Stack{PCs: []addr.Run{0x55555555513a, 0x555555555180}})
	us := time.Microsecond
	w.AddEvent(&capture.Event{Time: 100 * us, TID: 42, Kind: capture.Alloc, Func: malloc, Size: 24, Addr: 0x5555555592a0, Stack: stack})
	w.AddEvent(&capture.Event{Time: 103 * us, TID: 42, Kind: capture.Alloc, Func: malloc, Size: 24, Addr: 0x5555555592c0, Stack: stack})
	ended := capture.Ended{Size: 24, Stack: stack, Recorded: true, Seq: 1}
	w.AddEvent(&capture.Event{Time: 110 * us, TID: 42, Kind: capture.Free, Func: free, Size: 24, Addr: 0x5555555592a0, Ended: ended})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The example never changes: captures are kept for years. If this fails, the
// format has changed, and a reader of the old one is owed.
func TestMinimalCaptureIsAsItWas(t *testing.T) {
	golden.Check(t, "minimal.hdb", minimal(t))
	f, err := Open(filepath.Join("testdata", "minimal.hdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checkWhole(t, f)
	sameSource(t, f, readBack(t, minimal(t)))
	if v := f.Info().Version; v != "2.2" {
		t.Errorf("version %q", v)
	}
	if f.Len() != 3 || len(f.Functions()) != 2 || len(f.Modules()) != 1 || f.Stacks() != 1 {
		t.Errorf("%d events, functions %v", f.Len(), f.Functions())
	}
}

// A capture of a real size that was written before opens, and says the same.
func TestCaptureFromBeforeOpens(t *testing.T) {
	const n = 5000
	path := filepath.Join("testdata", "session-5000.hdb")
	if _, err := os.Stat(path); err != nil {
		_, b := session(t, n)
		golden.Check(t, "session-5000.hdb", b) // creates it with -update
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checkWhole(t, f)
	log, program := NewLog(capturetest.SampleInfo), capturetest.NewSimulation(1)
	program.Fill(log, n)
	sameSource(t, f, log)
}

// The dump in the specification is the one of the committed example.
func TestSpecificationShowsTheExample(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "capture-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("testdata", "minimal.hdb"))
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for off, line := range strings.Split(strings.TrimSuffix(hex.Dump(b), "\n"), "\n") {
		_ = off
		dump.WriteString("    " + strings.TrimRight(line, " ") + "\n")
	}
	if !strings.Contains(string(doc), dump.String()) {
		t.Errorf("docs/capture-format.md does not hold this dump of testdata/minimal.hdb:\n%s", dump.String())
	}
}
