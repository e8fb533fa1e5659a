package target

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/inferior/delve"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/probe"
	"hdb/query"
	"hdb/recording"
)

// A Target is what all parts of a session share: the process, core file or capture that it is about, how it is wired to
// its user, and its settings.
type Target struct {
	Config   Config
	Settings *Settings

	Names        *names.Resolver
	Proc         *inferior.Process                // the one that runs; nil without
	Image        *inferior.Process                // what is read: Proc, or what a core file has; nil without either
	Current      atomic.Pointer[inferior.Process] // Proc, for other goroutines
	Probe        *probe.Probe                     // nil before it was needed
	Go           *goRuntime                       // of the process
	delve        *delve.Program                   // of Image, loaded on first use
	Saved        *file.File                       // nil: no capture is open
	Clock        recording.Clock
	Attribution  *query.Attribution   // of blocks to functions, by the settings
	Reading      *capture.Reading     // of the command that runs, see Session.Within; nil: to the end
	Exit         *inferior.ExitStatus // of the last process that ended, nil: none has
	Said         map[string]bool      // warnings given in this run
	Births       int                  // processes that it has made
	Going        atomic.Bool          // all threads run, but those that are being looked at
	KeepTerminal bool                 // hdb keeps its terminal while a process runs
	Past         bool                 // an event that was recorded before is selected, see Travel
	Alongside    bool                 // the verbs are called while the process runs, see Session.Alongside
}

// Delve is what delve knows the Go program that Image is.
func (c *Target) Delve() (*delve.Program, error) {
	if c.delve.Of(c.Image) {
		return c.delve, nil
	}
	g, err := delve.Load(c.Image)
	if err != nil {
		return nil, err
	}
	c.delve = g
	return g, nil
}

// Unread is why what a file of the process holds is not known: it is not there, or another one has its
// place; nil: all are read.
func (c *Target) Unread() error {
	for _, m := range c.Image.Modules() {
		mod := c.Names.Modules.At(m.Low)
		if m.VDSO || mod == nil {
			continue
		}
		_, err := c.Names.Modules.Object(mod)
		switch {
		case err == nil:
		case c.Mode() == Core:
			return fmt.Errorf("%w; to use another program file: `hdb core FILE CORE`", err)
		default:
			return err
		}
	}
	return nil
}

// Notify tells the user one line about something that happened on the way.
func (c *Target) Notify(format string, args ...any) {
	c.Config.Notify(fmt.Sprintf(format, args...))
}

// Mode is Session.Mode.
func (c *Target) Mode() Mode {
	switch {
	case c.Saved != nil:
		return Saved
	case c.Proc != nil:
		return Live
	case c.Image != nil:
		return Core
	case c.Names.Program != nil:
		return Loaded
	}
	return Empty
}

// Recalled tells that what is selected is an event as it was recorded: of a capture, or of the
// recording that the process continues with.
func (c *Target) Recalled() bool { return c.Saved != nil || c.Past }

// PastError is the error of what the process has where the view is in its past.
func (c *Target) PastError() error {
	if c.Proc == nil {
		return ErrNotRunning
	}
	return ErrPast
}

// Live is the error of a verb that runs or changes a process, or nil.
func (c *Target) Live() error {
	if c.Mode() == Core {
		return c.Image.Alive()
	}
	return c.Readable()
}

// Readable is the error of a verb that reads a process: its threads and memory, which a
// core file has, too.
func (c *Target) Readable() error {
	switch mode := c.Mode(); {
	case mode == Saved:
		return ErrSaved
	case mode == Live && c.Alongside:
		return ErrNotStopped
	case mode == Live && c.Past:
		return ErrPast
	case mode.Readable():
		return nil
	}
	return ErrNotRunning
}

// Now is the inferior's own time since it was launched or attached: the time it was stopped for the
// user or for hdb's own work is not counted.
func (c *Target) Now() time.Duration {
	return c.Clock.Now()
}

// OwnWork leaves the time until the returned function is called out of the
// inferior's.
func (c *Target) OwnWork() func() {
	begun := time.Now()
	return func() {
		d := time.Since(begun)
		c.Clock.LeaveOut(d)
		if c.Probe != nil {
			c.Probe.Idle(d)
		}
	}
}

// OwnMemory is what hdb has mapped in the process or left in the core for its probe and conditions.
func (c *Target) OwnMemory() ([]probe.Owned, error) {
	maps, err := c.Image.Maps()
	return probe.Own(maps, c.Image), err
}

// OwnsMapping reports whether a mapping is the probe's.
func (c *Target) OwnsMapping(m inferior.Mapping) bool { return c.Probe != nil && c.Probe.Owns(m.Low) }

// Exclusive runs f while no event is being taken from the probe.
func (c *Target) Exclusive(f func()) {
	if c.Probe != nil {
		c.Probe.Exclusive(f)
		return
	}
	f()
}

// StopAll runs f while all threads are stopped, between two events: those that they made before
// have been taken from the probe, so that f may look at the trace.
func (c *Target) StopAll(f func() error) error {
	return c.Proc.StopAll(func() error {
		c.Exclusive(func() {})
		defer c.Exclusive(func() {}) // orders what f did before the events to come
		return f()
	})
}

// ReadPointer reads an address from the inferior's memory.
func (c *Target) ReadPointer(a addr.Run) (addr.Run, error) {
	var b [8]byte
	if _, err := c.Image.ReadAt(b[:], int64(a)); err != nil {
		return 0, err // which names the address
	}
	return addr.Run(binary.LittleEndian.Uint64(b[:])), nil
}

// Within is Session.Within.
func (c *Target) Within(r *capture.Reading) (before *capture.Reading) {
	before, c.Reading = c.Reading, r
	c.Names.Within(r)
	return before
}

// Interrupt is Session.Interrupt.
func (c *Target) Interrupt() error {
	c.Names.Debuginfod.Interrupt()
	if p := c.Current.Load(); p != nil {
		return p.Interrupt()
	}
	return nil
}

// Bound is the context of the command that runs, and notes when it is called that what was read is cut if
// that was given up.
func (c *Target) Bound() (context.Context, func()) {
	reading := c.Reading
	ctx, cancel := reading.Bound(context.Background())
	return ctx, func() {
		if ctx.Err() != nil {
			reading.GivenUp()
		}
		cancel()
	}
}

// ThreadNumber is hdb's number of a thread, 0 of one that it does not know.
func (c *Target) ThreadNumber(tid int) int {
	for _, t := range c.Image.Threads() {
		if t.TID == tid {
			return t.Num
		}
	}
	return 0
}

// Words are those of memory at an address, as far as it can be read.
func (c *Target) Words(at addr.Run, size int) (words []uint64, err error) {
	b := make([]byte, size)
	n, err := c.Image.ReadAt(b, int64(at))
	for ; n >= 8; n -= 8 {
		words = append(words, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	return words, err
}

// New is a target without a program. change runs changes of what names were found by, and has what was made of them
// forgotten.
func New(cfg Config, change func(func())) *Target {
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	if cfg.Print == nil {
		cfg.Print = func(texts ...string) { cfg.Notify(strings.TrimSuffix(strings.Join(texts, ""), "\n")) }
	}
	c := &Target{Config: cfg, Go: &goRuntime{}, Settings: &Settings{
		Env: map[string]string{}, UnsetEnv: map[string]bool{},
		Wrappers: regexp.MustCompile(query.DefaultWrappers), Libraries: regexp.MustCompile(query.DefaultLibraries), MaxDepth: 2048,
		Probe: ProbeAuto, WrongFrees: WrongFreesStop, Locking: LockOff, Settings: names.Settings{DebugDirs: []string{"/usr/lib/debug"}},
	}}
	c.Attribution = query.NewAttribution(c.Settings.Wrappers, c.Settings.Libraries)
	c.Names = names.New(names.Config{
		Settings: &c.Settings.Settings, Cache: cfg.Cache, Notify: func(line string) { c.Config.Notify(line) },
		Fetched: cfg.Fetched, Injected: injected{c}, Change: change,
	})
	return c
}

// Uint is the number that up to 8 bytes are in the inferior's order.
func Uint(b []byte) (v uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// UntilGivenUp is memory that cannot be read any more once the user has given up what runs.
func (c *Target) UntilGivenUp(of io.ReaderAt) io.ReaderAt { return boundedMemory{c, of} }

type boundedMemory struct {
	target *Target
	of     io.ReaderAt
}

func (m boundedMemory) ReadAt(b []byte, at int64) (int, error) {
	if m.target.Reading.GivenUp() {
		return 0, m.target.Reading.Cut()
	}
	return m.of.ReadAt(b, at)
}

// OneLine is the text of an error, joined ones one after the other: a notice is
// one line.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
