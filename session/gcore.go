package session

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/internal/outfile"
	"hdb/probe"
	"hdb/session/stepping"
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

// leaveProbe puts threads that are in the probe's code, which is not in the core, into the
// function that called it.
func (c *Cores) leaveProbe(im *corefile.Image) {
	if c.target.Probe == nil {
		return
	}
	for _, t := range c.target.Proc.Threads() {
		regs, err := t.Regs()
		if err != nil || !c.target.Probe.Covers(regs.PC()) {
			continue
		}
		raw := c.walker.Shown(regs.Unwind(), 1)
		i := slices.IndexFunc(im.Threads, func(written corefile.Thread) bool { return written.TID == t.TID })
		if i < 0 || len(raw.Frames) == 0 || c.target.Probe.Covers(raw.Frames[0].PC.Lookup()) {
			c.target.Notify("thread %d is in the probe's code, which is not in the core: its stack there is unknown", t.Num)
			continue
		}
		caller := raw.Frames[0]
		for _, reg := range append([]unwind.Reg{unwind.RSP, unwind.RIP}, stepping.Restored...) {
			if v, ok := caller.Regs.Get(reg); ok {
				*regs.At(reg) = v
			}
		}
		im.Threads[i].Regs = regs.Bytes()
		c.target.Notify("thread %d is in the probe's code: in the core it is in %v, which called it", t.Num, caller.PC.Addr())
	}
}
