package capture

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var exampleConsole = []ConsoleLine{
	{Typed: true, Text: "run"},
	{Seq: 3, Time: 110 * time.Microsecond, Text: "exited with code 0"},
}

// consoleChunk is the chunk of the capture that holds the log of the console.
func consoleChunk(t testing.TB, b []byte) []byte {
	t.Helper()
	for off := headerSize; off < len(b); {
		h, ok := parseChunkHeader(b[off:])
		if !ok {
			t.Fatalf("no chunk at byte %d", off)
		}
		end := off + chunkHeaderSize + int(h.length)
		if h.kind == chunkConsole {
			return b[off:end]
		}
		off = end
	}
	t.Fatal("no console log")
	return nil
}

func TestConsoleIsKept(t *testing.T) {
	info := testInfo
	info.Partial = Reasons{{Kind: Paused}}
	log := NewLog(info)
	for i := range 10 {
		log.AddEvent(&Event{Time: time.Duration(i) * time.Millisecond, Kind: Alloc, Addr: 16 * uint64(i+1), Size: 8})
	}
	lines := []ConsoleLine{
		{Typed: true, Text: "record start"},
		{Seq: 4, Time: time.Millisecond + 1, Text: "a report\x1b[31m with what a terminal would obey"},
		{Seq: 9, Time: 2 * time.Millisecond, Typed: true, Text: "save x"},
	}
	log.SetConsole(append(lines, ConsoleLine{Text: "is replaced"}))
	log.SetConsole(lines)
	want := slices.Clone(lines)
	want[1].Time = time.Millisecond
	var b, second bytes.Buffer // each is read later
	if err := WriteSource(&b, log, nil); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, b.Bytes())
	for name, got := range map[string][]ConsoleLine{
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
	if got := trimmed.Info().Partial; !slices.Equal(got, Reasons{{Kind: Paused}, {Kind: Trimmed}}) {
		t.Errorf("trimmed: %q", got)
	}
	later := testInfo
	later.PID, later.Start = 7, later.Start.Add(5*time.Millisecond)
	other := NewLog(later)
	other.AddEvent(&Event{Kind: Alloc, Addr: 16, Size: 8})
	other.SetConsole([]ConsoleLine{{Seq: 1, Typed: true, Text: "quit"}})
	if err := WriteSource(&second, other, nil); err != nil {
		t.Fatal(err)
	}
	got := madeConsole(t, func(w io.Writer) (Copied, error) { return Merge(w, []*File{f, readBack(t, second.Bytes())}) })
	if n := len(got); n != 4 || got[2] != (ConsoleLine{Seq: 7, Time: 5 * time.Millisecond, Typed: true, Text: "[7] quit"}) || got[3].Seq != 10 {
		t.Errorf("merged: %+v", got)
	}
}

// madeConsole is the console log of the capture that a tool makes.
func madeConsole(t testing.TB, tool func(io.Writer) (Copied, error)) []ConsoleLine {
	t.Helper()
	f, _ := made(t, tool)
	return f.Console()
}

// The example of docs/capture-format.md.
func TestSpecificationShowsAConsoleLog(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, testInfo)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range exampleConsole {
		w.AddConsole(l)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readBack(t, b.Bytes()).Console(); !slices.Equal(got, exampleConsole) {
		t.Errorf("%+v", got)
	}
	doc, err := os.ReadFile(filepath.Join("..", "docs", "capture-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for line := range strings.Lines(hex.Dump(consoleChunk(t, b.Bytes()))) {
		dump.WriteString("    " + strings.TrimRight(line, " \n") + "\n")
	}
	if !strings.Contains(string(doc), dump.String()) {
		t.Errorf("docs/capture-format.md does not hold this chunk:\n%s", dump.String())
	}
}
