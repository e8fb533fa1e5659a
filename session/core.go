package session

import (
	"errors"
	"fmt"
	"path/filepath"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/internal/rights"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
)

// errCoreRecord is why nothing is recorded of a core file.
var errCoreRecord = errors.New("record: a core file is open, and its process has ended: leaks, live and top per type read it; core-file without arguments closes it")

// Cores opens core files, and writes them of the process.
type Cores struct {
	target *target.Target
	sel    *view.Selection
	walker *target.Walker
	planes *Planes
	stops  *Stops
	exec   *Execution
}

// CoreInfo is what a core file tells before its threads and memory are read.
type CoreInfo struct {
	Path    string
	Program string // the file that ran, as far as it is known
	PID     int
	Command string // the name of the thread that died
	Args    string // the command line, at most 80 bytes of it
	Threads int
	Missing uint64 // bytes that the file lacks at its end
	Damage  error  // why some of its notes could not be read
}

// Open makes the session one about a core file. program is the file that ran: "" is
// the one that is loaded, if it is that, or else the one that the core names.
func (c *Cores) Open(path, program string) (CoreInfo, *stopped.Report, error) {
	switch c.target.Mode() {
	case target.Saved:
		return CoreInfo{}, nil, target.ErrSaved
	case target.Live:
		return CoreInfo{}, nil, target.ErrRunning
	}
	core, err := corefile.Open(absolute(path))
	if err != nil {
		return CoreInfo{}, nil, err
	}
	core.Report = func(line string) { c.target.Notify("%s", line) }
	before := c.target.Names.Sources.User
	c.target.Names.ReadAs("", ownerOfCore(core))
	prog, err := c.program(core, program)
	if err != nil {
		c.target.Names.ReadAs("", before)
		return CoreInfo{}, nil, errors.Join(err, core.Close())
	}
	c.Close()
	c.target.Names.Program = prog
	if prog != nil {
		if name := core.Program(); prog.Object != nil && prog.Path != name {
			core.Use(name, prog.Path)
		}
		core.FollowLinkMap(prog.Path)
	}
	c.take(core)
	info, _ := c.Opened()
	return info, c.exec.reportCore(), nil
}

// Opened is the core file that is open; ok is false without one.
func (c *Cores) Opened() (info CoreInfo, ok bool) {
	if c.target.Mode() != target.Core {
		return info, false
	}
	core := c.target.Image.Core()
	info = CoreInfo{Path: core.Path(), PID: core.Process.PID, Command: core.Process.Command, Args: core.Process.Args,
		Threads: len(core.Threads), Missing: core.Missing, Damage: core.Damage}
	if c.target.Names.Program != nil {
		info.Program = c.target.Names.Program.Path
	}
	return info, true
}

// absolute is a path that holds when the working directory changes.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// ownerOfCore is whose rights count for a core: its process's user, as the core says. Where that would be root, it is the owner of
// the file: a user can write any number into a core.
func ownerOfCore(core *corefile.File) *rights.User {
	if u := rights.OfUser(core.Process.UID, core.Process.GID); u != nil {
		return u
	}
	return rights.Of(core.Stat())
}

// take makes the process of a core the one that is read.
func (c *Cores) take(core *corefile.File) {
	exe := ""
	if c.target.Names.Program != nil {
		exe = c.target.Names.Program.Path
	}
	c.target.Image = inferior.OpenCore(core, exe)
	c.target.Names.Attach(0, c.target.Image) // whatever has its number now is another process
	c.target.Names.ReadAs("", ownerOfCore(core))
	c.target.Names.Modules.Update(target.Mappings(c.target.Image.Modules()))
	c.target.Said, c.target.Exit = map[string]bool{}, nil
	c.sel.Clear()
	c.sel.SelectDefault()
	c.stops.rebindAll()
}

// Close lets the core file go, if one is open, and reports whether.
func (c *Cores) Close() bool {
	if c.target.Mode() != target.Core {
		return false
	}
	if err := c.target.Image.Close(); err != nil {
		c.target.Notify("%v", err)
	}
	c.target.Image = nil
	c.sel.Clear()
	c.target.Names.Detach()
	c.stops.rebindAll()
	return true
}

// program is the program that ran, nil if it is not known.
func (c *Cores) program(core *corefile.File, given string) (*names.Program, error) {
	id := core.ProgramID()
	if given != "" {
		return c.openProgram(given, id)
	}
	own := core.Program()
	if loaded := c.target.Names.Program; loaded != nil && loaded.Object != nil {
		if sameProgram(loaded.Object.File.BuildID(), id) && (id != "" || own == "" || filepath.Base(own) == filepath.Base(loaded.Path)) {
			return loaded, nil
		}
		c.target.Notify("%s is not the program of the core", loaded.Path)
	}
	if own == "" {
		return nil, nil
	}
	prog, err := c.openProgram(own, id)
	if err != nil { // which is reported when its memory or its names are wanted
		return &names.Program{Path: own}, nil
	}
	return prog, nil
}

// openProgram opens the program of a core, which has the build ID, "" unknown.
func (c *Cores) openProgram(path, id string) (*names.Program, error) {
	full, err := findProgram(path)
	if err != nil {
		return nil, err
	}
	obj, err := c.target.Names.Open(full)
	if err != nil {
		return nil, explainForeign(full, err)
	}
	if have := obj.File.BuildID(); !sameProgram(have, id) {
		return nil, fmt.Errorf("%s: not the program of the core: build ID %s, the core has %s", full, have, id)
	}
	return &names.Program{Path: full, Object: obj}, nil
}

// sameProgram reports whether a file may be the program whose build ID the core has.
func sameProgram(have, want string) bool { return want == "" || have == want }

// reportCore tells why the process of a core died, and where.
func (x *Execution) reportCore() *stopped.Report {
	r := &stopped.Report{Reason: inferior.Stepped, Verb: "core"}
	died := x.target.Image.Died()
	if died != nil {
		r.Reason = inferior.Signaled
		r.Add(&stopped.Signaled{Signal: died})
	}
	r.Thread = x.sel.ThreadInfo(x.sel.Cur.Thread)
	x.showFrames(r)
	r.Python = x.python.Innermost(x.sel.Cur.Thread)
	if died != nil && died.Name == "SIGABRT" {
		blame(stopped.CauseOf[*stopped.Signaled](r), r, x.python, x.sel.Cur.Thread)
	}
	return r
}
