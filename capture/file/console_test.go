package file

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/capturetest"
)

var exampleConsole = []capture.ConsoleLine{
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

// The example of docs/capture-format.md.
func TestSpecificationShowsAConsoleLog(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, capturetest.SampleInfo)
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
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "capture-format.md"))
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
