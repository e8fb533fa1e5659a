//go:build unix

package file

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture/capturetest"
)

// recordedDir names an environment variable: a directory of captures to
// measure with. The simulated program of the other benchmarks has habits that
// are too regular for decisions about the format.
const recordedDir = "HDB_CAPTURES"

// BenchmarkRecorded encodes the events of real programs, chunk by chunk.
func BenchmarkRecorded(b *testing.B) {
	paths, err := filepath.Glob(filepath.Join(os.Getenv(recordedDir), "*.hdb"))
	if err != nil || os.Getenv(recordedDir) == "" || len(paths) == 0 {
		b.Skipf("%s is not a directory with captures (hdb record -o FILE makes them)", recordedDir)
	}
	for _, path := range paths {
		b.Run(strings.TrimSuffix(filepath.Base(path), ".hdb"), func(b *testing.B) {
			f, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			events := slices.Collect(f.Events(0))
			capturetest.NameMakers(events)
			c := eventEncoder{following: true}
			var p packer
			size, columns := 0, [numEventSections]int{}
			payload := make([]byte, 0, 1<<20)
			start := cputime()
			for b.Loop() {
				size, columns = 0, [numEventSections]int{}
				for rest := range slices.Chunk(events, eventsPerChunk) {
					payload = c.encode(payload[:0], &p, rest, nil)
					size += chunkHeaderSize + len(payload)
					addSections(b, &columns, payload)
				}
			}
			n := float64(len(events))
			reportCPU(b, start, len(events))
			b.ReportMetric(float64(size)/n, "B/event")
			for id, bytes := range columns {
				if share := float64(bytes) / n; share >= 0.005 {
					b.ReportMetric(share, strings.ReplaceAll(eventSectionNames[id], " ", "-")+"-B")
				}
			}
		})
	}
}

// addSections adds the lengths of a payload's sections.
func addSections(tb testing.TB, sizes *[numEventSections]int, payload []byte) {
	for len(payload) > 0 {
		s, rest, err := nextSection(payload)
		if err != nil {
			tb.Fatal(err)
		}
		sizes[s.id] += len(payload) - len(rest)
		payload = rest
	}
}
