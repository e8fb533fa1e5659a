package screen

import "strings"

// A transcript is the last lines that hdb printed and read, coloured as they were.
type transcript struct {
	lines []string // the last one may be unfinished
	open  bool     // it is
}

// maxSaid bounds the lines, and the bytes of one.
const (
	maxSaid     = 200
	maxSaidLine = 4096
)

func (t *transcript) add(text string) {
	if t == nil {
		return
	}
	for line := range strings.Lines(text) {
		whole := strings.HasSuffix(line, "\n")
		line = strings.TrimSuffix(line, "\n")
		if t.open {
			last := &t.lines[len(t.lines)-1]
			line, t.lines = *last+line, t.lines[:len(t.lines)-1]
		}
		if len(line) > maxSaidLine {
			line = "(a long line)"
		}
		t.lines = append(t.lines, line)
		t.open = !whole
	}
	if extra := len(t.lines) - maxSaid; extra >= maxSaid {
		t.lines = append([]string(nil), t.lines[extra:]...)
	}
}

// lastLines are at most n of the transcript.
func (n *Notices) lastLines(count int) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.said == nil {
		return nil
	}
	return append([]string(nil), n.said.lines[max(0, len(n.said.lines)-max(count, 0)):]...)
}
