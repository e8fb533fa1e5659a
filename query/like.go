package query

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/names"
)

// A Likeness is what makes an event of another run the same logical one: its
// stack, wherever the loader has put the code this time, and how many events
// with that stack came before it.
type Likeness struct {
	Function string // the allocator function
	Frees    bool
	Nth      uint64   // the event is the n-th with this stack and function, from 1
	Of       string   // the program that was recorded
	Files    []string // base names of what had code there

	frames []likeFrame
}

// A likeFrame is a physical frame.
type likeFrame struct {
	origin   Origin
	function string // the one that the code was compiled for, "" unknown
}

// An Origin is where code is in a file.
type Origin struct {
	module  string // base name
	buildID string // hex, "" without one
	file    addr.File
}

// same reports whether two frames are the same call. Of code in no file, and in files of another
// build, the addresses mean nothing: then the function has to do.
func (f likeFrame) same(o likeFrame) bool {
	switch {
	case f.origin.module != o.origin.module:
		return false
	case f.origin.module == "":
		return f.function == o.function
	case f.origin.buildID == o.origin.buildID:
		return f.origin.file == o.origin.file
	}
	return f.function != "" && f.function == o.function
}

// likeFrames are the physical frames of named ones.
func likeFrames(frames []names.Frame, origin func(names.Frame) Origin) []likeFrame {
	var out []likeFrame
	for _, f := range frames {
		if f.Inlined {
			continue // the frame that it was inlined into follows
		}
		out = append(out, likeFrame{origin(f), f.Function})
	}
	return out
}

// recordedOrigin is where recorded code came from.
func recordedOrigin(src capture.Source, c addr.Code, seq uint64) Origin {
	m, ok := names.ModuleAt(src, c.Lookup(), seq)
	if !ok {
		return Origin{}
	}
	return Origin{names.ModuleName(m), m.BuildID, c.Addr().File(m.Bias)}
}

// OriginIn is where code of a process came from, by its modules.
func OriginIn(modules *names.Modules, f names.Frame) Origin {
	m := modules.At(f.Code.Lookup())
	if m == nil {
		return Origin{}
	}
	o := Origin{module: names.ModuleName(capture.Module{Path: m.Path, High: m.High}), file: f.Code.Addr().File(m.Bias)}
	if obj, _ := modules.Object(m); obj != nil {
		o.buildID = obj.File.BuildID()
	}
	return o
}

// LikenessOf is the likeness of the event of that number.
func (r *Recording) LikenessOf(seq uint64) (*Likeness, error) {
	e, ok := EventAt(r.Source, seq)
	if !ok {
		return nil, fmt.Errorf("#%d: not among the %d recorded events: see allocs", seq, r.Source.Len())
	}
	st := r.Stack(e)
	switch {
	case e.Stack == 0:
		return nil, fmt.Errorf("#%d has no stack", seq)
	case st.Truncated != "":
		return nil, fmt.Errorf("its stack is incomplete: %s", st.Truncated)
	}
	l := &Likeness{
		Function: e.Function, Frees: e.Kind == capture.Free || e.Kind == capture.Unmap, Of: filepath.Base(r.Source.Info().Program),
		frames: likeFrames(st.Frames, func(f names.Frame) Origin { return recordedOrigin(r.Source, f.Code, seq) }),
	}
	for _, m := range r.Source.Modules() {
		l.Files = append(l.Files, names.ModuleName(m))
	}
	for o := range r.Reading.Of(r.Source).Events(0) {
		if o.Seq > seq {
			break
		}
		if o.Stack == e.Stack && o.Func == e.Func {
			l.Nth++
		}
	}
	return l, r.Reading.Cut()
}

// Likenesses are those that conditions ask for, by the event FILE#N. Any goroutine may
// use them.
type Likenesses struct {
	// Read reads the event of that number of a capture.
	Read func(path string, seq uint64) (*Likeness, error)

	mu sync.Mutex
	of map[string]likenessRead
}

type likenessRead struct {
	*Likeness
	err error
}

// Of reads the event FILE#N, once.
func (l *Likenesses) Of(event string) (*Likeness, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.of[event]
	if !ok {
		r.Likeness, r.err = l.read(event)
		if r.err != nil {
			r.err = fmt.Errorf("%s: %w", event, r.err)
		}
		if l.of == nil {
			l.of = map[string]likenessRead{}
		}
		l.of[event] = r
	}
	return r.Likeness, r.err
}

func (l *Likenesses) read(event string) (*Likeness, error) {
	i := strings.LastIndexByte(event, '#')
	if i <= 0 {
		return nil, fmt.Errorf("FILE.hdb#N expected")
	}
	seq, err := strconv.ParseUint(event[i+1:], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of an event", event[i+1:])
	}
	return l.Read(event[:i], seq)
}

// Forget has the event read again: the file may be another.
func (l *Likenesses) Forget(event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, event)
}

// Same reports whether frames are the stack of the event FILE#N.
func (l *Likenesses) Same(event string, frames []names.Frame, origin func(names.Frame) Origin) bool {
	wanted, err := l.Of(event)
	if err != nil {
		return false // said when the condition was set
	}
	return slices.EqualFunc(likeFrames(frames, origin), wanted.frames, likeFrame.same)
}
