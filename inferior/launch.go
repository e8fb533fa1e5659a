package inferior

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hdb/inferior/cmdline"
	"hdb/internal/regular"
)

// A Config says what to launch and how.
type Config struct {
	Path string   // the program: a path, or a name to look up in PATH
	Args []string // without argv[0]
	Env  []string // NAME=value; nil is hdb's own
	Dir  string   // working directory, "" is hdb's own
	cmdline.Redirections
	TTY string // a terminal to be the program's own, e.g. /dev/pts/3
	// DropsTyped: of the terminal that it shares with hdb, a signal key drops what was typed
	// before it, though hdb may have told the terminal otherwise for itself (NOFLSH).
	DropsTyped bool
	KeepASLR   bool // leave address space randomisation on
	Apart      bool // without a controlling terminal: it can neither read from hdb's nor write to it
}

// A LaunchError says why a program could not be started and what to do.
type LaunchError struct {
	Path  string
	Cause error
	Hint  string // the next step, may be ""
}

func (e *LaunchError) Error() string {
	s := fmt.Sprintf("%s: %v", e.Path, e.Cause)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *LaunchError) Unwrap() error { return e.Cause }

// Launch starts a program, stopped before its first instruction, and makes
// the calling goroutine the owner of the Process: it is locked to its OS
// thread until Close. The program dies when hdb does. Errors about the
// program are a *LaunchError.
func Launch(c Config) (*Process, error) {
	path, err := lookProgram(c.Path)
	if err != nil {
		return nil, err
	}
	files, err := openFiles(c)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, f := range files {
			if f != nil && f != os.Stdin && f != os.Stdout && f != os.Stderr {
				f.Close()
			}
		}
	}()
	runtime.LockOSThread()
	p := newProcess()
	pid, err := start(path, c, files, &p.terminal)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, explainLaunch(path, c, err)
	}
	if err := p.adoptLaunched(pid); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL) // it may be gone already
		_, _, _ = waitFor(pid)
		p.memory.close()
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("launch %s: %w", path, err)
	}
	return p, nil
}

// lookProgram finds the program as gdb does: the working directory first,
// then, for a name without a slash, PATH.
func lookProgram(name string) (string, error) {
	if name == "" {
		return "", &LaunchError{Path: "launch", Cause: errors.New("no program given")}
	}
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() && (strings.Contains(name, "/") || info.Mode()&0o111 != 0) {
		return filepath.Abs(name)
	}
	if err == nil && info.IsDir() && strings.Contains(name, "/") {
		return "", &LaunchError{Path: name, Cause: errors.New("is a directory")}
	}
	if strings.Contains(name, "/") {
		return "", &LaunchError{Path: name, Cause: errors.Unwrap(err)}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &LaunchError{Path: name, Cause: errors.New("not found in the working directory nor in PATH")}
	}
	return filepath.Abs(path)
}

// openFiles opens the program's standard files.
func openFiles(c Config) (files [3]*os.File, err error) {
	files = [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	open := func(i int, path string, flags int) {
		if path == "" || err != nil {
			return
		}
		if c.Dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		if files[i], err = openRedirection(path, flags); err != nil {
			err = fmt.Errorf("redirection: %w", err)
		}
	}
	write := func(appending bool) int {
		if appending {
			return os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		return os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if c.TTY != "" {
		open(0, c.TTY, os.O_RDWR|unix.O_NOCTTY)
		files[1], files[2] = files[0], files[0]
	}
	open(0, c.Stdin, os.O_RDONLY)
	open(1, c.Stdout, write(c.StdoutAppend))
	open(2, c.Stderr, write(c.StderrAppend))
	if c.StderrToStdout {
		files[2] = files[1]
	}
	if err != nil {
		for _, f := range files {
			if f != nil && f != os.Stdin && f != os.Stdout && f != os.Stderr {
				f.Close()
			}
		}
	}
	return files, err
}

// start forks and execs; the child stops at its first instruction, traced
// with PTRACE_TRACEME.
func start(path string, c Config, files [3]*os.File, term *terminal) (int, error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: env, Sys: &syscall.SysProcAttr{Ptrace: true}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	switch {
	case c.TTY != "":
		attr.Sys.Setsid, attr.Sys.Setctty, attr.Sys.Ctty = true, true, 0
	case c.Apart:
		attr.Sys.Setsid = true
	case term.open(c.DropsTyped):
		attr.Sys.Setpgid = true
	}
	if !c.KeepASLR {
		const addrNoRandomize, query = 0x0040000, 0xffffffff
		old, _, e := unix.RawSyscall(unix.SYS_PERSONALITY, query, 0, 0)
		if e == 0 {
			unix.RawSyscall(unix.SYS_PERSONALITY, old|addrNoRandomize, 0, 0)
			defer unix.RawSyscall(unix.SYS_PERSONALITY, old, 0, 0)
		}
	}
	return syscall.ForkExec(path, append([]string{c.Path}, c.Args...), attr)
}

// adoptLaunched exchanges PTRACE_TRACEME for PTRACE_SEIZE without letting the
// program run: detached with a SIGSTOP it stops before its first
// instruction, is seized as a stopped process, and woken by SIGCONT, which
// the program does not get to see.
func (p *Process) adoptLaunched(pid int) error {
	if _, ws, err := waitFor(pid); err != nil || !ws.Stopped() {
		return fmt.Errorf("process %d did not stop after exec: %v, %w", pid, ws, err)
	}
	if err := ptrace(unix.PTRACE_DETACH, pid, 0, uintptr(unix.SIGSTOP)); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, baseOptions|unix.PTRACE_O_EXITKILL); err != nil {
		return fmt.Errorf("seize: %w", err)
	}
	p.target = newTarget(pid, true)
	t := p.addThread(p.target, pid, running)
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		return err
	}
	p.stopping = true
	for { // group-stop, end of the group-stop, SIGCONT: in this order
		_, ws, err := waitFor(pid)
		if err != nil || ws.Exited() || ws.Signaled() {
			return fmt.Errorf("process %d ended at once: %v", pid, ws)
		}
		if event(ws) == 0 && ws.StopSignal() == unix.SIGCONT {
			break
		}
		request := unix.PTRACE_CONT
		if event(ws) == unix.PTRACE_EVENT_STOP && ws.StopSignal() == unix.SIGSTOP {
			request = unix.PTRACE_LISTEN
		}
		if err := ptrace(request, pid, 0, 0); err != nil {
			return err
		}
	}
	t.state, t.deliverable = stopped, true
	return p.prepare()
}

// prepare readies the engine for a process just launched or attached.
func (p *Process) prepare() error {
	if err := p.memory.open(p.target.pid, false); err != nil {
		return err
	}
	if err := p.target.executes(); err != nil {
		return err
	}
	p.modules.rescan()
	// Without stops of children SIGCHLD would only interrupt us; a refusal
	// costs time, not correctness.
	_ = changeAction(int(unix.SIGCHLD), saNoCldStop, 0)
	return nil
}

// explainLaunch turns an error of execve into one that says what is wrong
// with the program.
func explainLaunch(path string, c Config, err error) error {
	e := &LaunchError{Path: path, Cause: err}
	if c.Dir != "" {
		if info, statErr := os.Stat(c.Dir); statErr != nil || !info.IsDir() {
			return &LaunchError{Path: path, Cause: fmt.Errorf("working directory %s: not a directory", c.Dir)}
		}
	}
	head := make([]byte, 256)
	f, _, openErr := regular.Open(path)
	if openErr == nil {
		n, _ := io.ReadFull(f, head) // a short file is judged by what it has
		head = head[:n]
		f.Close()
	}
	switch {
	case errors.Is(err, unix.EACCES):
		e.Cause, e.Hint = errors.New("not executable"), "chmod +x "+path
		if info, statErr := os.Stat(path); statErr == nil && info.Mode()&0o111 != 0 {
			e.Cause, e.Hint = errors.New("permission denied"), "the file, a folder above it or a noexec mount forbids it"
		}
	case errors.Is(err, unix.ENOENT) && strings.HasPrefix(string(head), "#!"):
		line, _, _ := strings.Cut(string(head[2:]), "\n")
		e.Cause = fmt.Errorf("its interpreter %q does not exist", strings.TrimSpace(line))
	case errors.Is(err, unix.ENOENT) && openErr == nil:
		e.Cause, e.Hint = errors.New("its ELF interpreter does not exist"), interpreterHint(path)
	case errors.Is(err, unix.ENOEXEC):
		e.Hint, e.Cause = notExecutable(path, head)
	case errors.Is(err, unix.ELIBBAD), errors.Is(err, unix.EINVAL):
		e.Hint, e.Cause = notExecutable(path, head)
	case errors.Is(err, unix.EPERM):
		e.Hint = "ptrace is not permitted here; in a container it needs --cap-add=SYS_PTRACE"
	}
	return e
}

// interpreterHint names the dynamic linker that is missing.
func interpreterHint(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				return "install " + strings.TrimRight(string(b), "\x00")
			}
		}
	}
	return ""
}

// notExecutable says what a file is that the kernel does not run, and the
// next step.
func notExecutable(path string, head []byte) (hint string, cause error) {
	switch {
	case len(head) == 0:
		return "", errors.New("empty file")
	case !strings.HasPrefix(string(head), elf.ELFMAG):
		return "name its interpreter as the program", errors.New("not an ELF program, and no script with a #! line")
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("damaged ELF file: %w", err)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return "", fmt.Errorf("built for %s, this machine is x86-64", strings.TrimPrefix(f.Machine.String(), "EM_"))
	}
	return "", fmt.Errorf("ELF file of type %s, not a program", strings.TrimPrefix(f.Type.String(), "ET_"))
}

// openRedirection opens a standard file. It does not wait for the other side of a FIFO:
// the one that would wait is hdb.
func openRedirection(path string, flags int) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(path, flags, 0o666)
	}
	f, err := os.OpenFile(path, flags|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("%s: a FIFO without a reader: start its reader first", path)
	}
	if err != nil {
		return nil, err
	}
	if flags&unix.O_ACCMODE == os.O_RDONLY {
		written, err := hasWriter(f)
		if err != nil || !written {
			f.Close() // it was only read
			return nil, cmp.Or(err, fmt.Errorf("%s: a FIFO without a writer: start its writer first", path))
		}
	}
	if err := unix.SetNonblock(int(f.Fd()), false); err != nil { // the program shares it
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hasWriter reports whether a FIFO, opened for reading without waiting, has a writer, or something
// to read that one has left. It takes nothing out: see tee(2), which says 0 at the end of the input
// and EAGAIN where a writer has not written yet.
func hasWriter(fifo *os.File) (bool, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer r.Close()
	defer w.Close()
	n, err := unix.Tee(int(fifo.Fd()), int(w.Fd()), 1, unix.SPLICE_F_NONBLOCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	return n > 0, err
}
