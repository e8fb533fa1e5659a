package session

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/inferior"
	"hdb/inferior/cmdline"
	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"
	"hdb/internal/procroot"
	"hdb/internal/rights"
	"hdb/names"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
)

// ProgramInfo is what is known of the program before it runs.
type ProgramInfo struct {
	Path string
	symbols.Info
	BuildID string
}

// Load makes path, or the command of that name in PATH, the program to run. A
// process under the debugger stays what it is. What debug information it has Program
// tells: it has to be read for that.
func (s *Session) Load(path string) (ProgramInfo, error) {
	if s.Mode() == target.Saved {
		return ProgramInfo{}, target.ErrSaved
	}
	full, err := findProgram(path)
	if err != nil {
		return ProgramInfo{}, err
	}
	if corefile.Is(full) {
		return ProgramInfo{}, fmt.Errorf("%s: a core file, not a program: hdb core %s, or core-file %s here", path, path, path)
	}
	if core, open := s.Cores.Opened(); open { // which may have been another program's until now
		if _, _, err := s.Cores.Open(core.Path, full); err != nil {
			return ProgramInfo{}, err
		}
	}
	owner := rights.OfFile(full)
	if s.Mode() == target.Loaded || s.Mode() == target.Empty {
		s.target.Names.ReadAs("", owner)
	}
	obj, err := s.target.Names.Open(full)
	if err != nil {
		return ProgramInfo{}, explainForeign(full, err)
	}
	if obj.File.Owner().ID() != owner.ID() {
		return ProgramInfo{}, fmt.Errorf("%s: replaced by a file of another user while it was opened; try again", path)
	}
	s.target.Names.Program = &names.Program{Path: full, Object: obj}
	s.Stops.rebindAll()
	return ProgramInfo{Path: full, Info: obj.File.Header(), BuildID: obj.File.BuildID()}, nil
}

// Program is the loaded program; ok is false without one.
func (s *Session) Program() (ProgramInfo, bool) {
	if s.target.Names.Program == nil || s.target.Names.Program.Object == nil {
		return ProgramInfo{}, false
	}
	return ProgramInfo{Path: s.target.Names.Program.Path, Info: s.target.Names.Program.Object.Info(), BuildID: s.target.Names.Program.Object.File.BuildID()}, true
}

// findProgram resolves a name as a shell does, except that a file of that name, but no
// directory, in the working directory is found too, as gdb finds it.
func findProgram(name string) (string, error) {
	info, err := os.Stat(name)
	if (err != nil || info.IsDir()) && !strings.Contains(name, "/") {
		switch found, lookErr := exec.LookPath(name); {
		case lookErr == nil:
			name = found
		case err != nil:
			return "", fmt.Errorf("%s: no such file, and no such command in PATH", name)
		}
	} else if err != nil {
		return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	return filepath.Abs(name)
}

// explainForeign tells the user of a script that its interpreter is the program, and
// how a capture is opened.
func explainForeign(path string, err error) error {
	if !errors.Is(err, symbols.ErrNotELF) {
		return err
	}
	if st, statErr := os.Stat(path); statErr == nil && st.Mode().IsRegular() && file.Is(path) {
		return fmt.Errorf("%s: a capture, not a program: hdb open %s", path, path)
	}
	f, openErr := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would wait for a writer
	if openErr != nil {
		return err
	}
	defer f.Close()
	if st, statErr := f.Stat(); statErr != nil || !st.Mode().IsRegular() {
		return err
	}
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	interpreter, ok := strings.CutPrefix(strings.TrimSpace(line), "#!")
	interpreter = strings.TrimSpace(interpreter)
	if !ok || interpreter == "" {
		return err
	}
	program, _, _ := strings.Cut(interpreter, " ")
	if _, statErr := os.Stat(program); statErr != nil {
		return fmt.Errorf("%s: a script whose interpreter %s does not exist", path, program)
	}
	switch name := filepath.Base(path); shellOf(interpreter) {
	case "bash", "dash", "sh":
		if strings.Contains(path, "/.pyenv/shims/") {
			return fmt.Errorf("%s: a script of pyenv: debug the program that it starts: hdb --args $(pyenv which %s) ARGUMENTS", path, name)
		}
		return fmt.Errorf("%s: a script: debug the program that it starts: hdb --args PROGRAM ARGUMENTS; or from its shell on: hdb --args %s %s ARGUMENTS", path, interpreter, path)
	}
	return fmt.Errorf("%s: a script: debug its interpreter: hdb --args %s %s", path, interpreter, path)
}

// shellOf is the base name of the program that a #! line runs, also by env.
func shellOf(interpreter string) string {
	words := strings.Fields(interpreter)
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = words[1:]
	}
	return filepath.Base(words[0])
}

// Run launches the program, stopped before its first instruction, and resumes it
// until something stops it. args, when not nil, replaces the arguments.
func (s *Session) Run(args *string) (*stopped.Report, error) {
	if err := s.launch(args); err != nil {
		return nil, err
	}
	return s.Execution.Continue(1)
}

// Start is Run up to the program's main function.
func (s *Session) Start(args *string) (*stopped.Report, error) {
	if err := s.launch(args); err != nil {
		return nil, err
	}
	main := s.target.Names.Places.Main()
	if len(main) == 0 {
		s.target.Notify("no function main is known: stopped at the first instruction")
		return s.Execution.ReportHere("starti"), nil
	}
	return s.Execution.runTo(view.Places(main), "start")
}

// StartInstruction is Run up to the first instruction, which is the dynamic
// linker's in most programs.
func (s *Session) StartInstruction(args *string) (*stopped.Report, error) {
	if err := s.launch(args); err != nil {
		return nil, err
	}
	return s.Execution.ReportHere("starti"), nil
}

// launch starts the program and prepares all stops.
func (s *Session) launch(args *string) error {
	switch {
	case s.Mode() == target.Saved:
		return target.ErrSaved
	case s.target.Proc != nil:
		return target.ErrRunning
	case s.target.Names.Program == nil:
		return target.ErrNoProgram
	}
	if args != nil {
		s.Settings.Args = *args
	}
	cfg, err := s.launchConfig()
	if err != nil {
		return err
	}
	if obj, err := s.target.Names.Open(s.target.Names.Program.Path); err == nil {
		s.target.Names.Program.Object = obj // rebuilt since
	}
	p, err := inferior.Launch(cfg)
	if err != nil {
		return err
	}
	for _, st := range s.demand.stops.All() {
		st.Hits = 0 // hits are of one run, as the numbers of events are
	}
	return s.adopt(p, cfg.Args)
}

func (s *Session) launchConfig() (inferior.Config, error) {
	args, files, err := cmdline.Parse(s.Settings.Args)
	if err != nil {
		return inferior.Config{}, fmt.Errorf("arguments: %w", err)
	}
	cfg := inferior.Config{Args: args, Redirections: files}
	cfg.Path, cfg.Dir, cfg.TTY, cfg.KeepASLR = s.target.Names.Program.Path, s.Settings.Dir, s.Settings.TTY, s.Settings.KeepASLR
	cfg.Apart, cfg.DropsTyped = s.Settings.Apart, s.target.Config.DropsTyped
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, set := s.Settings.Env[name]; !set && !s.Settings.UnsetEnv[name] {
			cfg.Env = append(cfg.Env, kv)
		}
	}
	var added []string
	for name, value := range s.Settings.Env {
		added = append(added, name+"="+value)
	}
	slices.Sort(added)
	cfg.Env = append(cfg.Env, added...) // behind hdb's own, in their order, as a shell leaves them
	return cfg, nil
}

// Attach stops a running process and takes it under the debugger.
func (s *Session) Attach(pid int) (*stopped.Report, error) {
	switch {
	case s.Mode() == target.Saved:
		return nil, target.ErrSaved
	case s.target.Proc != nil:
		return nil, target.ErrRunning
	}
	s.sourcesOf(pid)
	s.readAhead(pid)
	p, err := inferior.AttachWith(pid, inferior.AttachOptions{
		Guard: s.target.Config.Guard, Message: func(m string) { s.target.Notify("%s", m) },
		Begun: func(p *inferior.Process) { s.target.Current.Store(p) },
	})
	if err != nil {
		s.target.Current.Store(nil)
		s.sourcesOf(0)
		return nil, err
	}
	exe := p.Exe()
	obj, err := s.target.Names.Open(programPath(p))
	if err != nil {
		s.target.Notify("%s: %v", exe, err)
	}
	s.target.Names.Program = &names.Program{Path: exe, Object: obj}
	if err := s.adopt(p, nil); err != nil {
		return nil, err
	}
	return s.Execution.ReportHere("attach"), nil
}

// readAhead reads what an attach needs of the files of a process while it still runs: it would be
// stopped meanwhile. Whatever needs what cannot be read reports it.
func (s *Session) readAhead(pid int) {
	maps, _ := inferior.MapsOf(pid)
	read := map[string]bool{}
	for _, m := range maps {
		if m.Inode == 0 || !strings.Contains(m.Perm, "x") || read[m.Path] {
			continue
		}
		read[m.Path] = true
		if obj, err := s.target.Names.Open(m.Openable(pid)); err == nil {
			obj.ReadAhead()
		}
	}
}

// programPath is where the running program can be opened: as its module is, so
// that both are one file.
func programPath(p *inferior.Process) string {
	for _, m := range p.Modules() {
		if m.Name == p.Exe() {
			return m.Path
		}
	}
	return procfs.Path(p.PID(), "exe")
}

// adopt makes p the process under the debugger.
func (s *Session) adopt(p *inferior.Process, args []string) error {
	s.Selection.ToPresent()
	s.Cores.Close()
	s.target.Proc, s.target.Image = p, p
	s.target.Current.Store(p)
	p.KeepTerminal(s.target.KeepTerminal)
	s.target.Names.Attach(p.PID(), p)
	s.sourcesOf(p.PID())
	s.target.Clock.Start()
	s.target.Said, s.target.Births = map[string]bool{}, 0
	s.account.Begin()
	s.Planes.begin()
	s.demand.begin()
	host, _ := os.Hostname()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	err := s.Recorder.begin(capture.Info{
		Program: s.target.Names.Program.Path, Args: args, PID: p.PID(), Start: s.target.Clock.Started(),
		Host: host, Kernel: strings.TrimSpace(string(kernel)), Arch: "x86-64", Created: "hdb " + s.target.Config.Version,
	})
	if err != nil {
		s.target.Proc, s.target.Image = nil, nil
		s.target.Current.Store(nil)
		s.target.Names.Detach()
		return errors.Join(err, p.Close())
	}
	if s.account.Rec.On() && p.Attached() {
		s.account.Rec.NotePartial(capture.Reason{Kind: capture.BeganLate})
	}
	s.Recorder.noteSelection()
	s.ApplySettings()
	if len(s.target.Config.Guard) > 0 {
		if err := p.Guard(s.target.Config.Guard); err != nil {
			s.target.Notify("%v", err)
		}
	}
	s.Catches.apply(p)
	p.SetHooks(inferior.Hooks{
		Modules: s.modulesChanged,
		Forked:  s.forked,
		Execed:  s.execed,
		Signal:  s.signalSeen,

		CatchFork:   occurrences{s.Stops}.fork,
		CatchExec:   s.catchExec,
		CatchSignal: occurrences{s.Stops}.signal,

		Guest: s.Planes.guest,

		ThreadStarted: s.Planes.threadStarted,
		ThreadExited:  s.Planes.threadExited,
		Exiting:       s.lastJITNames,
		Fault:         s.Planes.data.fault,
		SystemCall:    s.systemCall,
		Message:       func(m string) { s.target.Notify("%s", m) },

		KnownTrapHandler: s.handlesTraps,
		Refused:          s.Planes.refused,
	})
	s.Planes.newTracer()
	s.target.Names.Modules.Update(target.Mappings(p.Modules()))
	s.recordModules(p.Modules(), nil)
	s.Selection.SelectDefault()
	s.Stops.bindAll()
	if err := s.Planes.arm(); err != nil {
		return err
	}
	if p.Attached() {
		s.account.Gaps.Unseen()
		for _, st := range s.demand.stops.All() {
			if st.Enabled {
				s.Conditions.warnStopCounts(st)
			}
		}
	}
	if s.demand.wantsEvents() && s.target.Names.Program.Static() {
		s.Planes.noteNoAllocator()
	}
	return nil
}

// Detach lets the process continue, unharmed.
func (s *Session) Detach() (pid int, err error) {
	s.Selection.ToPresent()
	if err := s.target.Live(); err != nil {
		return 0, err
	}
	pid = s.target.Proc.PID()
	if s.account.Rec.On() {
		s.account.Rec.NotePartial(capture.Reason{Kind: capture.EndedEarly})
	}
	s.Stops.unbindAll()
	s.Planes.release()
	err = s.target.Proc.Detach() // lifts whatever is left
	s.forget("detached")
	return pid, err
}

// Kill ends the process.
func (s *Session) Kill() (pid int, err error) {
	s.Selection.ToPresent()
	if err := s.target.Live(); err != nil {
		return 0, err
	}
	pid = s.target.Proc.PID()
	err = s.target.Proc.Kill()
	s.forget(programGone)
	return pid, err
}

// sourcesOf has sources looked for as a process sees files, and with its user's rights; 0 as hdb sees them, with the rights
// of the program's owner.
func (s *Session) sourcesOf(pid int) {
	if pid > 0 {
		s.target.Names.ReadAs(procroot.Of(pid), rights.OfProcess(pid))
		return
	}
	var owner *rights.User
	if p := s.target.Names.Program; p != nil && p.Object != nil { // it has none if its file is gone
		owner = p.Object.File.Owner()
	}
	s.target.Names.ReadAs("", owner)
}

// forget drops everything that belonged to the process. The log stays, to be asked and saved. A
// process that is held takes its place. fate is as for forgetBindings.
func (s *Session) forget(fate string) {
	s.Planes.data.drop(false)
	if held := s.target.Proc.Held(); len(held) > 0 {
		err := s.switchTo(held[0])
		if err == nil {
			s.target.Notify("process %d was held, and is now the one under hdb", held[0])
			return
		}
		s.target.Notify("%v", err)
	}
	s.target.Names.Resumed() // the map is whole now
	if err := s.target.Proc.Close(); err != nil {
		s.target.Notify("%v", err)
	}
	s.Recorder.close()
	s.Planes.dropTracer()
	s.target.Proc, s.target.Image = nil, nil
	s.target.Current.Store(nil)
	s.Selection.Clear()
	s.demand.hits = nil
	s.target.Names.Detach()
	s.sourcesOf(0)
	s.Stops.forgetBindings(fate)
	s.Stops.rebindAll()
}

// Close ends the session: launched processes are killed unless the settings spare them, attached
// ones continue.
func (s *Session) Close() error {
	var errs []error
	s.target.Names.Debuginfod.Close()
	if s.target.Proc != nil {
		if s.Outlives() {
			s.Stops.unbindAll()
			s.Planes.release()
			if !s.target.Proc.Attached() {
				errs = append(errs, s.target.Proc.Detach()) // Close would kill it
			}
		}
		errs = append(errs, s.target.Proc.Close())
		s.Planes.data.drop(false)
		s.Recorder.close()
		s.target.Proc, s.target.Image, s.Planes.tracer = nil, nil, nil
		s.target.Current.Store(nil)
	}
	s.Cores.Close()
	s.Recorder.dropKept()
	if s.target.Saved != nil {
		errs = append(errs, s.target.Names.CloseCapture(), s.target.Saved.Close())
		s.target.Saved = nil
	}
	return errors.Join(append(errs, s.target.Names.Close())...)
}

// ApplySettings makes changed settings hold for the running process.
func (s *Session) ApplySettings() {
	if s.target.Proc == nil {
		return
	}
	s.target.Proc.SetFollowFork(s.Settings.FollowChild)
	s.target.Proc.SetDetachOnFork(!s.Settings.KeepForks)
	if s.target.Proc.Attached() {
		return // it was there before
	}
	if err := s.Planes.setKillOnExit(!s.Settings.Outlive); err != nil {
		s.target.Notify("%v", err)
	}
}

// Outlives tells that the process continues when the session ends.
func (s *Session) Outlives() bool {
	return s.target.Proc != nil && (s.target.Proc.Attached() || s.Settings.Outlive)
}

// modulesChanged follows dlopen and dlclose.
func (s *Session) modulesChanged(by *inferior.Thread, added, removed []inferior.Module) inferior.Action {
	defer s.target.OwnWork()()
	s.target.Exclusive(func() {
		s.target.Names.Modules.Update(target.Mappings(s.target.Proc.Modules()))
		s.recordModules(added, removed)
		s.account.Rec.ForgetAnswers()
	})
	s.Planes.modulesChanged(added, removed)
	s.Stops.dropPlaces(removed)
	s.Stops.bindPending()
	s.Planes.traceClones()
	return occurrences{s.Stops}.libraries(by, added, removed)
}

// systemCall follows a system call, which may map memory and may be caught.
func (s *Session) systemCall(t *inferior.Thread, c inferior.SystemCall) inferior.Action {
	action := s.Planes.systemCall(t, c)
	if caught := (occurrences{s.Stops}).systemCall(t, c); caught == inferior.StopHere {
		action = caught
	}
	return action
}

// toldBirths is how many processes that run free are reported in a run: a server may make hundreds a second.
const toldBirths = 10

func (s *Session) forked(b inferior.Birth) {
	forked := "forked"
	if b.VFork {
		forked = "vforked"
	}
	s.target.Births++
	switch {
	case b.Followed:
		s.target.Notify("following child process %d of %d", b.Child, b.Parent)
	case s.Settings.KeepForks:
		s.target.Notify("process %d %s %d, which is held: see info inferiors", b.Parent, forked, b.Child)
	case s.target.Config.Forked != nil:
		s.target.Config.Forked(b)
	case s.target.Births == toldBirths:
		s.target.Notify("process %d %s %d: it runs without hdb; further children are not reported", b.Parent, forked, b.Child)
	case s.target.Births < toldBirths:
		s.target.Notify("process %d %s %d: it runs without hdb", b.Parent, forked, b.Child)
	}
	if b.Followed {
		s.sourcesOf(b.Child)
		s.Planes.followProbe()
		s.target.Names.Modules.Update(target.Mappings(s.target.Proc.Modules()))
	}
}

// handlesTraps tells a handler of SIGTRAP that is a Go runtime's: all of them have one (docs/go.md).
func (s *Session) handlesTraps(handler addr.Run) bool {
	obj, _ := s.target.Names.Modules.ObjectAt(handler)
	return obj != nil && obj.File.Header().Go
}

// execed follows execve: all traps are gone with the old image.
func (s *Session) execed(path string) {
	defer s.target.OwnWork()()
	s.target.Notify("process %d is executing new program: %s", s.target.Proc.PID(), path)
	s.Planes.replaced()
	s.Stops.forgetBindings(programGone)
	s.sourcesOf(s.target.Proc.PID()) // who may be another user now
	obj, err := s.target.Names.Open(path)
	if err != nil {
		s.target.Notify("%s: %v", path, err)
	}
	s.target.Names.Program = &names.Program{Path: path, Object: obj}
	s.target.Names.Log.Change(s.account.Rec, s.account.Rec.Seq()+1, nil, s.target.Names.Log.Mapped())
	s.target.Names.Exec(s.target.Proc.PID())
	s.target.Names.Modules.Update(target.Mappings(s.target.Proc.Modules()))
	s.recordModules(s.target.Proc.Modules(), nil)
	s.account.Rec.Replaced()
	s.account.Gaps.Forget()
	s.logProgram(path)
	s.Planes.tracer.Reset()
	s.Selection.SelectDefault()
	s.Stops.bindAll()
	if err := s.Planes.arm(); err != nil {
		s.target.Notify("%v", err)
	}
}

// catchExec stops a thread that has executed another program if a stop waits for that.
func (s *Session) catchExec(t *inferior.Thread) inferior.Action {
	action := occurrences{s.Stops}.exec(t)
	if action == inferior.Resume {
		s.Planes.noteUnfollowed()
	}
	if s.Stops.demand.leaving != nil {
		return inferior.StopHere
	}
	return action
}

// logProgram has the recording be one of the program that was executed in place of
// another, of which nothing is live: it is the last one that a recording is called by,
// not the shell or the script that led to it.
func (s *Session) logProgram(path string) {
	var args []string
	if line, err := os.ReadFile(procfs.Path(s.target.Proc.PID(), "cmdline")); err == nil && len(line) > 0 {
		args = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")[1:]
	}
	s.account.Rec.SetProgram(path, args)
	for _, t := range s.target.Proc.Threads() { // whose names are the program's now
		s.account.Rec.RenameThread(thread{t})
	}
}

func (s *Session) signalSeen(t *inferior.Thread, sig *inferior.Signal) {
	if s.target.Config.Signal != nil {
		s.target.Config.Signal(sig)
		return
	}
	s.target.Notify("thread %d received %s", t.Num, sig.Explanation)
}
