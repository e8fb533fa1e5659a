package capture

import (
	"bytes"
	"errors"
	"iter"
	"testing"
)

// countedSummaries counts those that are read.
type countedSummaries struct {
	Source
	read int
}

func (c *countedSummaries) Summaries(from uint64) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for s, err := range c.Source.Summaries(from) {
			if c.read++; !yield(s, err) {
				return
			}
		}
	}
}

// endedWriter takes no more once the first summary was read.
type endedWriter struct{ of *countedSummaries }

var errEnded = errors.New("ended")

func (w endedWriter) Write(p []byte) (int, error) {
	if w.of.read > 0 {
		return 0, errEnded
	}
	return len(p), nil
}

// TestSaveEndsBetweenSummaries: reading those of a long recording takes longer than
// somebody who has given up wants to wait.
func TestSaveEndsBetweenSummaries(t *testing.T) {
	log := NewLog(testInfo)
	for range 200_000 {
		log.AddEvent(&Event{Kind: Alloc, Addr: 0x10})
	}
	var b bytes.Buffer
	if err := WriteSource(&b, log, nil); err != nil {
		t.Fatal(err)
	}
	src := &countedSummaries{Source: readBack(t, b.Bytes())}
	if err := WriteSource(endedWriter{src}, src, nil); !errors.Is(err, errEnded) || src.read != 1 {
		t.Errorf("%d summaries were read: %v", src.read, err)
	}
}
