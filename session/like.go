package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/addr"
	"hdb/names"
)

// A likeness is what makes an event of another run the same logical one: its
// stack, wherever the loader has put the code this time, and how many events
// with that stack came before it.
type likeness struct {
	frames []likeFrame
	fn     string // the allocator function
	frees  bool
	nth    uint64   // the event is the n-th with this stack and function, from 1
	of     string   // the program that was recorded
	files  []string // base names of what had code there
}

// A likeFrame is a physical frame.
type likeFrame struct {
	origin   codeOrigin
	function string // the one that the code was compiled for, "" unknown
}

// A codeOrigin is where code lies in a file.
type codeOrigin struct {
	module  string // base name
	buildID string // hex, "" without one
	file    addr.File
}

// same tells whether two frames are the same call. Of files of another build the
// addresses mean nothing: then the function has to do.
func (f likeFrame) same(o likeFrame) bool {
	if f.origin.module != o.origin.module {
		return false
	}
	if f.origin.buildID == o.origin.buildID {
		return f.origin.file == o.origin.file
	}
	return f.function != "" && f.function == o.function
}

// likeFrames are the physical frames of named ones.
func likeFrames(frames []Frame, origin func(Frame) (codeOrigin, bool)) []likeFrame {
	var out []likeFrame
	for _, f := range frames {
		if f.Inlined {
			continue // the frame that it was inlined into follows
		}
		o, _ := origin(f) // code in no file is told by its function
		out = append(out, likeFrame{o, f.Function})
	}
	return out
}

// recordedOrigin is where recorded code came from.
func recordedOrigin(src capture.Source, c addr.Code, seq uint64) (codeOrigin, bool) {
	m, ok := names.ModuleAt(src, c.Lookup(), seq)
	if !ok {
		return codeOrigin{}, false
	}
	return codeOrigin{names.ModuleName(m), m.BuildID, c.Addr().File(m.Bias)}, true
}

// liveOrigin is where code of the process came from.
func (s *Session) liveOrigin(f Frame) (codeOrigin, bool) {
	m := s.names.Modules.At(f.Code.Lookup())
	if m == nil {
		return codeOrigin{}, false
	}
	o := codeOrigin{module: "[vdso]", file: f.Code.Addr().File(m.Bias)} // as savedName has it
	if m.Path != "" {
		o.module = filepath.Base(m.Path)
	}
	if obj, _ := s.names.Modules.Object(m); obj != nil {
		o.buildID = obj.BuildID()
	}
	return o, true
}

// likeLive asks whether the stack of the process is like an event's.
func (c *callers) likeLive(s *Session) func(string) bool {
	return func(event string) bool { return s.like(event, c.stack(), s.liveOrigin) }
}

// like tells whether named frames are the stack of the event FILE#N.
func (s *Session) like(event string, frames []Frame, origin func(Frame) (codeOrigin, bool)) bool {
	l, err := s.likenessOf(event)
	if err != nil {
		return false // said when the condition was set
	}
	mine := likeFrames(frames, origin)
	if len(mine) != len(l.frames) {
		return false
	}
	for i := range mine {
		if !mine[i].same(l.frames[i]) {
			return false
		}
	}
	return true
}

// likenesses are those read so far, for any goroutine.
type likenesses struct {
	mu sync.Mutex
	of map[string]likenessRead
}

type likenessRead struct {
	*likeness
	err error
}

// likenessOf reads the event FILE#N, once.
func (s *Session) likenessOf(event string) (*likeness, error) {
	s.likes.mu.Lock()
	defer s.likes.mu.Unlock()
	r, ok := s.likes.of[event]
	if !ok {
		r.likeness, r.err = s.readLikeness(event)
		if r.err != nil {
			r.err = fmt.Errorf("%s: %w", event, r.err)
		}
		if s.likes.of == nil {
			s.likes.of = map[string]likenessRead{}
		}
		s.likes.of[event] = r
	}
	return r.likeness, r.err
}

func (s *Session) readLikeness(event string) (*likeness, error) {
	i := strings.LastIndexByte(event, '#')
	if i <= 0 {
		return nil, fmt.Errorf("FILE.hdb#N expected")
	}
	seq, err := strconv.ParseUint(event[i+1:], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no event's number", event[i+1:])
	}
	other := New(Config{Version: s.cfg.Version, Cache: s.cfg.Cache})
	defer other.Close()
	if _, err := other.Open(event[:i]); err != nil {
		return nil, err
	}
	e, st, err := other.EventStack(seq)
	switch {
	case err != nil:
		return nil, err
	case st.Truncated != "":
		return nil, fmt.Errorf("its stack is not whole: %s", st.Truncated)
	}
	src := other.saved
	l := &likeness{
		fn: e.Function, frees: e.Kind == capture.Free || e.Kind == capture.Unmap,
		frames: likeFrames(st.Frames, func(f Frame) (codeOrigin, bool) { return recordedOrigin(src, f.Code, seq) }),
	}
	l.of = filepath.Base(src.Info().Program)
	for _, m := range src.Modules() {
		l.files = append(l.files, names.ModuleName(m))
	}
	for o := range s.reading.Of(src).Events(0) {
		if o.Seq > seq {
			break
		}
		if o.Stack == e.Stack && o.Func == e.Func {
			l.nth++
		}
	}
	return l, s.reading.Cut()
}

// programFile is the base name of the program as modules have it, "" without one.
func (s *Session) programFile() string {
	if s.names.Program == nil {
		return ""
	}
	path, err := filepath.EvalSymlinks(s.names.Program.Path)
	if err != nil {
		path = s.names.Program.Path
	}
	return filepath.Base(path)
}

// likeSpec is the stop at the event FILE#N of a capture in this run: the same
// stack, as often as there. It stops once.
func (s *Session) likeSpec(event string) (*breakpoints.Stop, error) {
	path, err := filepath.Abs(event)
	if err != nil {
		path = event
	}
	s.likes.mu.Lock()
	delete(s.likes.of, path) // the file may be another now
	s.likes.mu.Unlock()
	l, err := s.likenessOf(path)
	if err != nil {
		return nil, fmt.Errorf("break at %w", err)
	}
	if own := s.programFile(); own != "" && !slices.Contains(l.files, own) {
		s.notify("break at %s: that is of %s, where no %s ran: the stop waits for the same stack", event, l.of, own)
	}
	place := l.fn
	if _, ok := s.function(l.fn); !ok {
		place = "alloc"
		if l.frees {
			place = "free"
		}
	}
	spec, err := breakpoints.ParseSpec(fmt.Sprintf("%s if like(%q)", place, path), s.userFns...)
	if err != nil {
		return nil, fmt.Errorf("break at %s: %w", event, err)
	}
	st := breakpoints.NewStop(spec)
	st.Ignore, st.Left = l.nth-1, 1
	return st, nil
}
