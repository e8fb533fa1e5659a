package edit

import (
	"bytes"
	"io"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// handled is a recording of a program whose function f of Python, at an address, allocates once.
func handled(t *testing.T, program string, at addr.Run, f capture.Frame, buildID string) *file.File {
	t.Helper()
	info := capturetest.SampleInfo
	info.Program = program
	var b bytes.Buffer
	w, err := file.NewWriter(&b, info)
	if err != nil {
		t.Fatal(err)
	}
	w.AddModule(capture.Module{Path: "/usr/bin/python3.11", BuildID: buildID, Low: 0x400000, High: 0x500000, From: 1})
	w.Keep(at, []capture.Frame{f})
	st := w.Intern(capture.Stack{PCs: []addr.Run{0x400100, at, 0x400200}})
	w.AddEvent(&capture.Event{Kind: capture.Alloc, Func: w.FuncIndex("malloc"), Addr: 0x1000, Size: 100, Stack: st, TID: 1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return readBack(t, b.Bytes())
}

// TestMergeInterpreted merges the functions of Python of two processes, started by two links to one file: positions that are
// the same, others, and two that have the same address.
func TestMergeInterpreted(t *testing.T) {
	handle := capture.Frame{Function: "handle", File: "worker.py", Line: 4, Source: "python", Language: "python"}
	other := capture.Frame{Function: "Other.handle", File: "worker.py", Line: 9, Source: "python", Language: "python"}
	at := capture.InterpretedAddress(&handle, 0)
	for _, c := range []struct {
		name   string
		second capture.Frame
		at     addr.Run
	}{{"the same", handle, at}, {"another", other, capture.InterpretedAddress(&other, 0)}, {"another at its address", other, at}} {
		a, b := handled(t, "/usr/bin/python3", at, handle, "c0ffee"), handled(t, "/usr/bin/python3.11", c.at, c.second, "c0ffee")
		g, _ := made(t, func(w io.Writer) (Copied, error) { return Merge(w, []*file.File{a, b}) })
		want := []capture.Frame{handle, c.second}
		for e := range g.Events(0) {
			pcs := g.Stack(e.Stack).PCs
			if len(pcs) != 3 || !capture.IsInterpreted(pcs[1]) {
				t.Fatalf("%s: %v", c.name, pcs)
			}
			if chain, ok := g.Symbol(pcs[1], true, e.Seq); !ok || len(chain) != 1 || chain[0] != want[0] {
				t.Errorf("%s: #%d by %+v, want %+v", c.name, e.Seq, chain, want[0])
			}
			want = want[1:]
		}
	}
	if _, err := Merge(io.Discard, []*file.File{handled(t, "/usr/bin/python3", at, handle, "c0ffee"), handled(t, "/usr/bin/python3.11", at, handle, "7ea")}); err == nil {
		t.Error("captures of two builds were merged")
	}
}
