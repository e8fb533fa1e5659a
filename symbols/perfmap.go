package symbols

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"io"
	"slices"
	"strconv"

	"hdb/internal/addr"
)

// Bounds of a perf map: a program may write whatever it likes into it.
const (
	maxPerfMap   = 64 << 20 // bytes read
	maxPerfCodes = 1 << 20
	maxPerfName  = 4096
)

// A PerfMap is what a runtime says of the code that it made, in the file
// /tmp/perf-PID.map that perf reads (tools/perf/Documentation/jit-interface.txt):
// lines of an address and a size, both hexadecimal, and a name.
type PerfMap struct {
	codes []perfCode // in the order of the file
	spans []perfSpan // ascending, disjoint
}

type perfCode struct {
	low, high addr.Run
	name      string
}

// A perfSpan is [low, high) with the code that was written last for it.
type perfSpan struct {
	low, high addr.Run
	code      int32
}

// ReadPerfMap reads a map. Lines that are none are left out, and what exceeds the
// bounds; the error is the reader's.
func ReadPerfMap(r io.Reader) (*PerfMap, error) {
	m := &PerfMap{}
	in := bufio.NewReaderSize(io.LimitReader(r, maxPerfMap), 64<<10)
	var err error
	for err == nil && len(m.codes) < maxPerfCodes {
		var line []byte
		line, err = in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			m.add(line) // the name is cut
			for err == bufio.ErrBufferFull {
				_, err = in.ReadSlice('\n')
			}
			continue
		}
		if err == nil || err == io.EOF && len(line) > 0 && line[len(line)-1] == '\n' {
			m.add(line[:len(line)-1]) // one without an end is being written
		}
	}
	m.index()
	if err == io.EOF {
		err = nil
	}
	return m, err
}

func (m *PerfMap) add(line []byte) {
	start, rest, _ := bytes.Cut(line, []byte{' '})
	size, name, ok := bytes.Cut(rest, []byte{' '})
	low, lowErr := strconv.ParseUint(string(bytes.TrimPrefix(start, []byte("0x"))), 16, 64)
	n, sizeErr := strconv.ParseUint(string(bytes.TrimPrefix(size, []byte("0x"))), 16, 64)
	name = bytes.TrimSpace(name)
	if !ok || lowErr != nil || sizeErr != nil || n == 0 || low+n < low || len(name) == 0 {
		return
	}
	m.codes = append(m.codes, perfCode{addr.Run(low), addr.Run(low + n), string(name[:min(len(name), maxPerfName)])})
}

// latest is a heap of codes, the one that was written last on top.
type latest []int32

func (l latest) Len() int           { return len(l) }
func (l latest) Less(i, j int) bool { return l[i] > l[j] }
func (l latest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *latest) Push(x any)        { *l = append(*l, x.(int32)) }
func (l *latest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// index cuts the codes at each other's ends: memory is used again, and the line
// that was written last holds.
func (m *PerfMap) index() {
	order := make([]int32, len(m.codes))
	edges := make([]addr.Run, 0, 2*len(m.codes))
	for i, c := range m.codes {
		order[i] = int32(i)
		edges = append(edges, c.low, c.high)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(m.codes[a].low, m.codes[b].low) })
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var open latest
	for i, at := range edges {
		for ; len(order) > 0 && m.codes[order[0]].low == at; order = order[1:] {
			heap.Push(&open, order[0])
		}
		for len(open) > 0 && m.codes[open[0]].high <= at {
			heap.Pop(&open)
		}
		if len(open) == 0 {
			continue
		}
		n := len(m.spans)
		if n > 0 && m.spans[n-1].high == at && m.spans[n-1].code == open[0] {
			m.spans[n-1].high = edges[i+1]
			continue
		}
		m.spans = append(m.spans, perfSpan{at, edges[i+1], open[0]})
	}
}

// Len is the number of codes that the map names.
func (m *PerfMap) Len() int { return len(m.codes) }

// Lookup names the code at pc. Entry is an address of the process.
func (m *PerfMap) Lookup(pc addr.Run) (Frame, bool) {
	i, found := slices.BinarySearchFunc(m.spans, pc, func(s perfSpan, pc addr.Run) int { return addr.Compare(s.low, s.high, pc) })
	if !found {
		return Frame{}, false
	}
	c := &m.codes[m.spans[i].code]
	return Frame{Function: c.name, Entry: addr.File(c.low), Source: FromPerfMap}, true
}
