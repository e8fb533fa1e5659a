package session

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/outfile"
	"hdb/probe"
	"hdb/session/stepping"
	"hdb/session/target"
	"hdb/unwind"
)

// WrittenCore is what Write has written.
type WrittenCore struct {
	Path    string
	Threads int
	Size    int64 // with its holes, bytes
	Bytes   int64 // on the disk
}

// Write writes a core file of the stopped process, as the kernel would; the selected
// thread comes first in it. path "" is core.PID. Nothing of hdb's is in it: no int3, and no
// memory of the probe.
func (c *Cores) Write(path string, force bool) (WrittenCore, error) {
	if err := c.target.Live(); err != nil {
		return WrittenCore{}, err
	}
	if path == "" {
		path = fmt.Sprintf("core.%d", c.target.Proc.PID())
	}
	own, err := c.target.OwnMemory()
	if err != nil {
		return WrittenCore{}, err
	}
	im, err := c.target.Proc.CoreImage(c.sel.Cur.Thread, func(m inferior.Mapping) bool {
		return c.target.OwnsMapping(m) || probe.Covers(own, m)
	})
	if err != nil {
		return WrittenCore{}, err
	}
	if im.Close != nil {
		defer im.Close()
	}
	c.leaveProbe(im)
	reading := c.target.Reading
	im.Proceed = func() error {
		if reading.GivenUp() {
			return reading.Cut()
		}
		return nil
	}
	out := WrittenCore{Path: path, Threads: len(im.Threads)}
	err = outfile.File{Path: path, Force: force}.Write(func(w io.Writer) error {
		if f, ok := w.(*os.File); ok {
			_ = f.Chmod(0o600) // as the kernel's: all that the process knew is in it. Pipes have no mode
		}
		out.Size, err = im.Write(w)
		return err
	})
	if err != nil {
		return WrittenCore{}, err
	}
	out.Bytes = allocated(path)
	return out, nil
}

// allocated is how much of the disk a file takes.
func allocated(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return 512 * sys.Blocks
	}
	return st.Size()
}

// leaveProbe has no thread be in the probe's code, which is not in the core, and none return there: threads in it are put
// into the function that called it, and its frames taken out of stacks.
func (c *Cores) leaveProbe(im *corefile.Image) {
	if c.target.Probe == nil {
		return
	}
	own := func(f unwind.Frame) bool { return c.target.Probe.Covers(f.PC.Lookup()) }
	stacks := &movedStacks{ReaderAt: im.Memory, walker: c.walker, own: own}
	for _, t := range c.target.Proc.Threads() {
		regs, err := t.Regs()
		i := slices.IndexFunc(im.Threads, func(written corefile.Thread) bool { return written.TID == t.TID })
		if err != nil || i < 0 {
			continue
		}
		if c.target.Probe.Covers(regs.PC()) && !c.leave(t, &regs) {
			continue
		}
		if !stacks.move(&regs) {
			c.target.Notify("thread %d is in a function that the probe called: in the core its stack ends there", t.Num)
		}
		im.Threads[i].Regs = regs.Bytes()
	}
	stacks.wrap(im)
}

// leave puts a thread that is in the probe's code into the function that called it.
func (c *Cores) leave(t *inferior.Thread, regs *inferior.Registers) bool {
	raw := c.walker.Shown(regs.Unwind(), 1)
	if len(raw.Frames) == 0 || c.target.Probe.Covers(raw.Frames[0].PC.Lookup()) {
		c.target.Notify("thread %d is in the probe's code, which is not in the core: its stack there is unknown", t.Num)
		return false
	}
	caller := raw.Frames[0]
	for _, reg := range append([]unwind.Reg{unwind.RSP, unwind.RIP}, stepping.Restored...) {
		if v, ok := caller.Regs.Get(reg); ok {
			*regs.At(reg) = v
		}
	}
	c.target.Notify("thread %d is in the probe's code: in the core it is in %v, which called it", t.Num, caller.PC.Addr())
	return true
}

// movedStacks is the memory of a core file. Where the probe has called an allocating function, its frame lies between
// those of the function and of the caller, and return addresses lead into the probe's code, which is not in the core.
// Here the frames of the callee are moved up over the probe's frame, to where they would be without the probe. Words in
// them, and registers, that point into what is moved are adjusted.
type movedStacks struct {
	io.ReaderAt
	walker *target.Walker
	own    func(unwind.Frame) bool // whether a frame is the probe's
	moved  []movedStack
}

// movedStack is a part of a stack whose content in the core differs from the process.
type movedStack struct {
	at   addr.Run
	data []byte
}

func (m *movedStacks) ReadAt(b []byte, off int64) (int, error) {
	n, err := m.ReaderAt.ReadAt(b, off)
	for _, s := range m.moved {
		if at := int64(s.at); at < off {
			copy(b[:n], s.data[min(off-at, int64(len(s.data))):])
		} else if at < off+int64(n) {
			copy(b[at-off:n], s.data)
		}
	}
	return n, err
}

// overlaps reports whether something was moved into [a, a+n).
func (m *movedStacks) overlaps(a addr.Run, n uint64) bool {
	return slices.ContainsFunc(m.moved, func(s movedStack) bool {
		return s.at < a+addr.Run(n) && a < s.at+addr.Run(len(s.data))
	})
}

// wrap has a core written with what is moved.
func (m *movedStacks) wrap(im *corefile.Image) {
	im.Memory = m
	if untouched := im.Untouched; untouched != nil {
		im.Untouched = func(a addr.Run, n uint64) bool { return !m.overlaps(a, n) && untouched(a, n) }
	}
}

const (
	redZone        = 128      // what a function uses below its stack pointer (System V ABI, section 3.2.2)
	maxMoved       = 64 << 20 // more than a stack has as a rule
	maxSignalFrame = 16 << 10 // registers of all extensions included; anything else is a handler on another stack
	maxProbeCalls  = 16       // of calls by the probe in a stack
)

// move takes the probe's frames out of the stack of a thread with these registers. It reports whether the stack without
// them is just the one that was there, apart from them. If not, nothing is changed.
func (m *movedStacks) move(regs *inferior.Registers) bool {
	kept, before := *regs, len(m.moved)
	frames := m.walk(regs)
	want := slices.DeleteFunc(slices.Clone(frames), m.own)
	for range maxProbeCalls {
		last := -1 // the outermost: inner ones are moved with the rest
		for i, f := range frames {
			if m.own(f) {
				last = i
			}
		}
		if last < 0 {
			if slices.EqualFunc(frames, want, func(a, b unwind.Frame) bool { return a.PC == b.PC }) {
				return true
			}
			break
		}
		if last == 0 || last == len(frames)-1 || !m.close(regs, frames[:last+1]) {
			break
		}
		frames = m.walk(regs)
	}
	*regs, m.moved = kept, m.moved[:before]
	return false
}

func (m *movedStacks) walk(regs *inferior.Registers) []unwind.Frame {
	return slices.Clone(m.walker.Walk.Walk(m, regs.Unwind(), 0).Frames)
}

// close moves all frames over the last one, which is the probe's.
func (m *movedStacks) close(regs *inferior.Registers, frames []unwind.Frame) bool {
	n := len(frames)
	low, high, to := (regs.SP()-redZone)&^7, frames[n-2].CFA, frames[n-1].CFA
	if low >= high || high-low > maxMoved || to <= high || to-high > maxSignalFrame || high%8 != 0 || to%8 != 0 {
		return false
	}
	for i, f := range frames[:n-1] {
		if i > 0 && (f.CFA <= frames[i-1].CFA || f.Signal && f.CFA-frames[i-1].CFA > maxSignalFrame) {
			return false // not all on one stack
		}
	}
	data := make([]byte, high-low)
	if _, err := m.ReadAt(data, int64(low)); err != nil {
		return false
	}
	adjusted := func(v uint64) uint64 {
		if v >= uint64(low) && v <= uint64(high) {
			return v + uint64(to-high)
		}
		return v
	}
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], adjusted(binary.LittleEndian.Uint64(data[i:])))
	}
	for reg := range unwind.RIP {
		*regs.At(reg) = adjusted(*regs.At(reg))
	}
	// The last word is the return address into the probe. The caller's own is where it goes.
	m.moved = append(m.moved, movedStack{low + (to - high), data[:len(data)-8]})
	return true
}
