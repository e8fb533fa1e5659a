package recordings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/outfile"
	"hdb/internal/rights"
	"hdb/session/target"
	"hdb/session/view"
)

// Captures opens captures, and saves what was recorded to one.
type Captures struct {
	target   *target.Target
	sel      *view.Selection
	recorded *Recorded
	console  *ConsoleLog
	path     string // of the one that is open, absolute
	kept     extent // of the recording when it was saved last
}

// NewCaptures opens captures in a target, and saves its recording.
func NewCaptures(t *target.Target, sel *view.Selection, r *Recorded, log *ConsoleLog) *Captures {
	return &Captures{target: t, sel: sel, recorded: r, console: log}
}

// extent tells how much of which recording there is.
type extent struct {
	start  time.Time
	pid    int
	events uint64
}

func extentOf(src capture.Source) extent {
	info := src.Info()
	return extent{info.Start, info.PID, info.Totals.Events}
}

// Unsaved is how many events were recorded since the recording was saved, all of them
// if it was not. Events that were stopped at, without a recording, do not count.
func (c *Captures) Unsaved() uint64 {
	if c.target.Saved != nil || !c.recorded.Account.Rec.On() && !c.recorded.Account.Rec.Ended() {
		return 0
	}
	src := c.recorded.WholeSource()
	if src == nil {
		return 0
	}
	now := extentOf(src)
	if before := c.kept; before.start.Equal(now.start) && before.pid == now.pid {
		return now.events - min(now.events, before.events)
	}
	return now.events
}

// Open makes the session one about a capture, at its last stop or event.
func (c *Captures) Open(path string) (capture.Info, error) {
	info, err := c.OpenWhole(path)
	if err == nil {
		c.sel.SelectSaved()
	}
	return info, err
}

// OpenWhole is Open for questions to all of the capture: nothing is selected.
func (c *Captures) OpenWhole(path string) (capture.Info, error) {
	if c.target.Proc != nil {
		return capture.Info{}, target.ErrRunning
	}
	if c.target.Mode() == target.Core {
		return capture.Info{}, target.ErrCoreOpen
	}
	f, err := file.Open(path)
	if err != nil {
		return capture.Info{}, err
	}
	if c.target.Saved != nil {
		if err := errors.Join(c.target.Names.CloseCapture(), c.target.Saved.Close()); err != nil {
			c.target.Notify("close: %v", err)
		}
	}
	c.target.Saved = f
	if c.path, err = filepath.Abs(path); err != nil {
		c.path = path
	}
	c.target.Names.ReadAs("", OwnerOfCapture(f))
	c.target.Names.OpenCapture(f, c.path)
	c.target.Attribution.InterpretsIn(f)
	c.target.Attribution.RunsIn(f)
	c.sel.Clear()
	c.recorded.ToEnd()
	if d := f.Damage(); d != nil {
		c.target.Notify("%v", d)
	}
	return f.Info(), nil
}

// OwnerOfCapture is whose rights count for a capture: the owner of the file, or, if that is root, of the program.
func OwnerOfCapture(f *file.File) *rights.User {
	if u := rights.Of(f.Stat()); u != nil {
		return u
	}
	return rights.OfFile(f.Info().Program)
}

// Opened tells what a capture begins with: how many events can be read, and the
// stop or event that is selected, "" without any.
func (c *Captures) Opened() (events int, selected string) {
	if c.target.Saved == nil {
		return 0, ""
	}
	if info := c.target.Saved.Info(); info.Aggregate {
		return int(info.Totals.Events), "" // in sums
	}
	stops := c.target.Saved.Stops()
	for i := len(stops) - 1; i >= 0 && c.sel.Cur.StackID != 0; i-- {
		if stops[i].Stack == c.sel.Cur.StackID && max(stops[i].Event, stops[i].Seq) == c.sel.Cur.At {
			return c.target.Saved.Len(), fmt.Sprintf("stop %d, %s", i+1, stops[i].Text)
		}
	}
	if e, ok := c.recorded.Event(c.sel.Cur.Seq); ok {
		return c.target.Saved.Len(), fmt.Sprintf("event #%d %s", e.Seq, e.Call())
	}
	return c.target.Saved.Len(), ""
}

// Path is the capture that is open, absolute, or "".
func (c *Captures) Path() string {
	if c.target.Saved == nil {
		return ""
	}
	return c.path
}

// SavedInfo is what Save wrote.
type SavedInfo struct {
	Path   string
	Events int
	Summed uint64 // events of which only sums are kept
	Stacks int
	Stops  int
	Bytes  int64
}

// Save writes what was recorded and the session's stops to a capture. A file that is
// there is only replaced with force, and not if it is the opened one.
func (c *Captures) Save(path string, force bool) (SavedInfo, error) {
	src := c.recorded.WholeSource()
	if src == nil && c.recorded.unreadable != nil {
		return SavedInfo{}, fmt.Errorf("save: the recording cannot be read: %w", c.recorded.unreadable)
	}
	if src == nil {
		return SavedInfo{}, errors.New("save: nothing to save: no program ran")
	}
	src = c.withConsole(src)
	to := outfile.File{Path: path, Force: force, Inputs: []string{c.Path()}}
	if err := c.write(to, src); err != nil {
		return SavedInfo{}, fmt.Errorf("save: %w", err)
	}
	c.kept = extentOf(src)
	return savedInfo(path, src), nil
}

// write writes a whole capture, or none.
func (c *Captures) write(to outfile.File, src capture.Source) error {
	return to.Write(func(w io.Writer) error {
		return file.WriteSource(readWriter{w, c.target.Reading}, src, c.target.Names.Embedder())
	})
}

// A readWriter fails once the reading is given up.
type readWriter struct {
	io.Writer
	reading *capture.Reading
}

func (w readWriter) Write(p []byte) (int, error) {
	if w.reading.GivenUp() {
		return 0, w.reading.Cut()
	}
	return w.Writer.Write(p)
}

// savedInfo is what was written to path.
func savedInfo(path string, src capture.Source) SavedInfo {
	info := SavedInfo{Path: path, Events: src.Len(), Stacks: src.Stacks(), Stops: len(src.Stops()), Bytes: FileSize(path)}
	if src.Info().Aggregate {
		info.Summed = src.Info().Totals.Events
	}
	return info
}

// FileSize is the size of a file in bytes, 0 if it is not known.
func FileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// withConsole adds the console log of the session to its recording; a capture has its
// own.
func (c *Captures) withConsole(src capture.Source) capture.Source {
	switch {
	case c.target.Saved != nil:
	case c.recorded.Account.Rec.Log() != nil:
		c.recorded.Account.Rec.Log().SetConsole(c.console.Log.Lines())
	default:
		return c.recorded.Account.Rec.File().WithConsole(c.console.Log.Lines())
	}
	return src
}

// Embed writes the opened capture anew with the names and source lines that
// are known now, to path or, if that is "", in its own place. Another file that is
// there is only replaced with force.
func (c *Captures) Embed(path string, force bool) (SavedInfo, error) {
	if c.target.Saved == nil {
		return SavedInfo{}, errors.New("no capture is open: save FILE writes one with names and source lines")
	}
	own := path == ""
	to := outfile.File{Path: path, Force: force, Inputs: []string{c.path}}
	if own {
		path = c.path
		to = outfile.File{Path: path, Force: true}
		if d := c.target.Saved.Damage(); d != nil {
			return SavedInfo{}, fmt.Errorf("%w; what can be read goes to another file: symbols embed FILE", d)
		}
	}
	if err := c.write(to, c.target.Saved); err != nil {
		return SavedInfo{}, fmt.Errorf("symbols embed: %w", err)
	}
	info := savedInfo(path, c.target.Saved)
	if !own {
		return info, nil
	}
	f, err := file.Open(path)
	if err != nil {
		return SavedInfo{}, err
	}
	old := c.target.Saved
	c.target.Saved = f // with the same numbers of events and stacks
	c.target.Names.ReplaceCapture(f)
	return info, old.Close()
}
