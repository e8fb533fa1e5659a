package edit

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
)

func TestConsoleIsKept(t *testing.T) {
	info := capturetest.SampleInfo
	info.Partial = capture.Reasons{{Kind: capture.Paused}}
	log := file.NewLog(info)
	for i := range 10 {
		log.AddEvent(&capture.Event{Time: time.Duration(i) * time.Millisecond, Kind: capture.Alloc, Addr: 16 * uint64(i+1), Size: 8})
	}
	lines := []capture.ConsoleLine{
		{Typed: true, Text: "record start"},
		{Seq: 4, Time: time.Millisecond + 1, Text: "a report\x1b[31m with what a terminal would obey"},
		{Seq: 9, Time: 2 * time.Millisecond, Typed: true, Text: "save x"},
	}
	log.SetConsole(append(lines, capture.ConsoleLine{Text: "is replaced"}))
	log.SetConsole(lines)
	want := slices.Clone(lines)
	want[1].Time = time.Millisecond
	var b, second bytes.Buffer // each is read later
	if err := file.WriteSource(&b, log, nil); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	for name, got := range map[string][]capture.ConsoleLine{
		"log": log.Console(), "file": f.Console(), "repaired": madeConsole(t, func(w io.Writer) (Copied, error) { return Repair(w, f) }),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := madeConsole(t, func(w io.Writer) (Copied, error) { return Trim(w, f, 3, 8) }); !slices.Equal(got, want[1:2]) {
		t.Errorf("trimmed: %+v", got)
	}
	if got := madeConsole(t, func(w io.Writer) (Copied, error) { return Anonymize(w, f, Anonymity{}) }); len(got) > 0 {
		t.Errorf("anonymized: %+v", got)
	}
	trimmed, _ := made(t, func(w io.Writer) (Copied, error) { return Trim(w, f, 3, 8) })
	if got := trimmed.Info().Partial; !slices.Equal(got, capture.Reasons{{Kind: capture.Paused}, {Kind: capture.Trimmed}}) {
		t.Errorf("trimmed: %q", got)
	}
	later := capturetest.SampleInfo
	later.PID, later.Start = 7, later.Start.Add(5*time.Millisecond)
	other := file.NewLog(later)
	other.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 16, Size: 8})
	other.SetConsole([]capture.ConsoleLine{{Seq: 1, Typed: true, Text: "quit"}})
	if err := file.WriteSource(&second, other, nil); err != nil {
		t.Fatal(err)
	}
	got := madeConsole(t, func(w io.Writer) (Copied, error) { return Merge(w, []*file.File{f, readBack(t, second.Bytes())}) })
	if n := len(got); n != 4 || got[2] != (capture.ConsoleLine{Seq: 7, Time: 5 * time.Millisecond, Typed: true, Text: "[7] quit"}) || got[3].Seq != 10 {
		t.Errorf("merged: %+v", got)
	}
}

// madeConsole is the console log of the capture that a tool makes.
func madeConsole(t testing.TB, tool func(io.Writer) (Copied, error)) []capture.ConsoleLine {
	t.Helper()
	f, _ := made(t, tool)
	return f.Console()
}
