package page

import (
	"cmp"
	"io"
	"slices"
	"sync"

	"hdb/report"
)

// flameMoments is how many moments of time the page's chart has at most.
const flameMoments = 2000

// Marks of frames on the data.
const (
	flameGuess   = 1 << iota // the unwinder guessed the frame
	flameInlined             // into its caller
	flameSymtab              // named by a symbol table, not by debug info
	flameUnnamed             // only the address is known
	flameNoFrame             // says why frames are missing
	flameFolded              // at an end of a stack, not the user's: see report.Stack.Folded
)

// WriteFlamegraph writes a page that draws the stacks as a flame graph, from the
// outside in and from the inside out, at first by the measure.
func WriteFlamegraph(w io.Writer, p *report.Profile, first report.Measure) error {
	p = p.Counted()
	frames := newFlameFrames(p)
	data := flameData{info: infoOf(p, first), Limit: flameNodes}
	var grown [2]func() *flameTree
	var growing sync.WaitGroup
	for i, inverse := range []bool{false, true} {
		growing.Go(func() { grown[i] = newFlameStacks(p, frames, inverse).grown(flameNodes) })
	}
	growing.Wait()
	for i := range grown {
		data.Trees[i] = grown[i]()
	}
	data.Threads = frames.threads
	if len(data.Threads) == 1 {
		data.Threads = nil
	}
	data.Frames, data.Functions, data.Strings = frames.frames, frames.functions, frames.text.list
	for i := range p.Snapshots {
		data.Snapshots = append(data.Snapshots, momentOf(p.Snapshots[i].Moment))
	}
	data.addTimes(p)
	d := document{title: p.Title + " - flame graph", body: webFile("flame.html"), style: "flame.css", scripts: []string{"common.js", "model.js", "draw.js", "chart.js", "flame.js"}, data: &data}
	return d.write(w)
}

// A flameData is the data of the data.
type flameData struct {
	info
	Limit     int           `json:"limit"` // of the nodes of a tree
	Trees     [2]*flameTree `json:"trees"` // from the outside, from the inside
	Frames    [][3]int      `json:"frames"`
	Functions [][4]int      `json:"functions"`
	Strings   []string      `json:"strings"`
	Threads   []string      `json:"threads"`
	Snapshots []moment      `json:"snapshots"`
	Timeline  [][2]float64  `json:"timeline"` // seconds, bytes live
	RSS       [][2]float64  `json:"rss"`      // seconds, bytes
	Marks     []flameMark   `json:"marks"`
}

type flameMark struct {
	Time float64 `json:"time"`
	Name string  `json:"name"`
}

// addTimes adds what the page shows over time.
func (data *flameData) addTimes(p *report.Profile) {
	for _, m := range p.HeapMoments() {
		data.Timeline = append(data.Timeline, [2]float64{m.Time.Seconds(), float64(m.Live)})
	}
	for _, r := range p.RSS {
		data.RSS = append(data.RSS, [2]float64{r.Time.Seconds(), float64(r.RSS)})
	}
	// A recording of one run has few moments of its own.
	for _, s := range p.Snapshots {
		if !p.Sums {
			data.Timeline = append(data.Timeline, [2]float64{s.Time.Seconds(), float64(s.Live)})
		}
	}
	slices.SortStableFunc(data.Timeline, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	data.Timeline, data.RSS = thinned(data.Timeline), thinned(data.RSS)
	for _, m := range p.Marks[:min(len(p.Marks), flameMoments)] {
		data.Marks = append(data.Marks, flameMark{m.Time.Seconds(), shown(m.Name)})
	}
}

// thinned keeps the highest of as many points as make the rest few enough.
func thinned(points [][2]float64) [][2]float64 {
	step := (len(points) + flameMoments - 1) / flameMoments
	if step <= 1 {
		return points
	}
	var out [][2]float64
	for part := range slices.Chunk(points, step) {
		out = append(out, slices.MaxFunc(part, func(a, b [2]float64) int { return cmp.Compare(a[1], b[1]) }))
	}
	return out
}

// flameFrames numbers frames for a page: by function and line, whatever the
// address is. The page has only those that a tree uses.
type flameFrames struct {
	p       *report.Profile
	of      []int32 // by index of the profile's frames
	folded  []int32 // likewise, where a stack has the frame folded
	outer   []int32 // by stack: the frame that represents missing ones, or -1
	thread  []int32 // by stack: index of threads
	threads []string
	keys    []flameKey
	used    []int32 // by key, -1 unused: its number on the page

	frames    [][3]int // function, line, marks
	functions [][4]int // of strings: name, file, module; 1 for a library's
	function  map[[4]int]int
	text      *stringTable
}

// A flameKey is what tells frames of a page apart.
type flameKey struct {
	function, file, module string
	line, marks            int
	library                bool
}

func newFlameFrames(p *report.Profile) *flameFrames {
	c := &flameFrames{p: p, function: map[[4]int]int{}, frames: [][3]int{}, functions: [][4]int{}, text: newStringTable()}
	keys, threads := map[flameKey]int32{}, map[string]int32{}
	number := func(k flameKey) int32 {
		n, ok := keys[k]
		if !ok {
			n = int32(len(c.keys))
			keys[k] = n
			c.keys = append(c.keys, k)
			c.used = append(c.used, -1)
		}
		return n
	}
	for i := range p.Frames {
		k := keyOf(p, &p.Frames[i])
		c.of = append(c.of, number(k))
		k.marks |= flameFolded
		c.folded = append(c.folded, number(k))
	}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		outer := int32(-1)
		if text := s.Placeholder(); text != "" {
			outer = number(flameKey{function: text, marks: flameNoFrame})
		}
		name := s.ThreadLabel()
		thread, ok := threads[name]
		if !ok {
			thread = int32(len(c.threads))
			threads[name] = thread
			c.threads = append(c.threads, shown(name))
		}
		c.outer, c.thread = append(c.outer, outer), append(c.thread, thread)
	}
	return c
}

// at is frame i of a stack, counted from its innermost one.
func (c *flameFrames) at(s *report.Stack, i int) int32 {
	if inner, outer := s.Folded(); i < inner || i >= outer {
		return c.folded[s.Frames[i]]
	}
	return c.of[s.Frames[i]]
}

// keyOf is what the page says of a frame.
func keyOf(p *report.Profile, f *report.Frame) flameKey {
	k := flameKey{function: f.Function, file: f.File, module: p.ModulePath(f), line: f.Line, library: f.Library}
	for mark, is := range map[int]bool{flameGuess: f.Guess, flameInlined: f.Inlined, flameSymtab: !f.Known && !f.Unnamed, flameUnnamed: f.Unnamed} {
		if is {
			k.marks |= mark
		}
	}
	return k
}

// use is the number of a frame on the data.
func (c *flameFrames) use(frame int32) int32 {
	if c.used[frame] >= 0 {
		return c.used[frame]
	}
	k := &c.keys[frame]
	library := 0
	if k.library {
		library = 1
	}
	f := [4]int{c.text.number(k.function), c.text.number(k.file), c.text.number(k.module), library}
	n, ok := c.function[f]
	if !ok {
		n = len(c.functions)
		c.function[f] = n
		c.functions = append(c.functions, f)
	}
	c.used[frame] = int32(len(c.frames))
	c.frames = append(c.frames, [3]int{n, k.line, k.marks})
	return c.used[frame]
}
