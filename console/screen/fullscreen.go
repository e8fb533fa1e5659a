package screen

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// A TerminalError says that there is no terminal for a view, or that it is too small.
type TerminalError struct{ text string }

func (e *TerminalError) Error() string { return e.text }

// NoTerminal is the error of a view that has no terminal.
func NoTerminal(view string) error {
	return &TerminalError{view + " needs a terminal that can move its cursor, without -batch and --json"}
}

// A FullScreen is the alternate screen of hdb's terminal. The split screen and the full-screen
// views have it alternating. Begin and End belong to the goroutine of the console. The rest is for
// any.
type FullScreen struct {
	tty *os.File
	// aside runs f on a goroutine that may start processes and wait for them. The one
	// that owns an inferior may not.
	aside   func(f func() error) error
	net     *crashNet      // nil: none
	signals chan os.Signal // of the terminal, from the first time on

	mu   sync.Mutex // held for one write
	user User
	w    io.Writer
	last string // what was painted last, and brought the cursor to where it stays
	on   atomic.Bool
	away bool // hdb is being suspended: the terminal is the shell's

	// The handler of SIGTSTP, while it is not installed: Go never gives up one that
	// it has installed, and then the signal would not stop hdb.
	handler signalAction
}

// A User is called, on other goroutines, when its screen changes.
type User struct {
	Resized func() // or may have been
	Lost    func() // another program had the terminal
}

// Begin gives the terminal to a user. before is written to the screen that is left.
func (s *FullScreen) Begin(before string, user User) {
	s.net = newCrashNet(s.tty, s.aside)
	if s.signals == nil {
		s.signals = make(chan os.Signal, 8)
		signal.Notify(s.signals, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP)
		s.handler.remove()
		go s.follow(s.signals)
	}
	s.mu.Lock()
	s.user = user
	s.mu.Unlock()
	s.enter(before)
}

// End gives the terminal back.
func (s *FullScreen) End() {
	s.leave()
	s.net.close()
	s.net = nil
}

// Stat describes the terminal's file.
func (s *FullScreen) Stat() (os.FileInfo, error) { return s.tty.Stat() }

// write writes to the terminal unless another program has it. Errors are those of a terminal that
// hung up, which the reader finds out.
func (s *FullScreen) write(text, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	if s.on.Load() && !s.away {
		_, _ = io.WriteString(s.w, text)
	}
}

// Show writes lines, which are clean and fit, to a screen of that number of rows.
func (s *FullScreen) Show(lines []string, rows int) {
	var b strings.Builder
	b.WriteString("\x1b[0m\x1b[?25l\x1b[?7l")
	for i, line := range lines {
		b.WriteString(goTo(i+1) + "\x1b[K" + line + "\x1b[0m")
	}
	if len(lines) < rows {
		b.WriteString(goTo(len(lines)+1) + "\x1b[J")
	}
	s.write(b.String(), b.String())
}

// enter begins the alternate screen, leave gives the terminal back. Between them
// SIGTSTP is handled, so that a Ctrl-Z that is no key because a command runs gives
// the terminal back first.
func (s *FullScreen) enter(before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on.Store(true)
	s.handler.install()
	_, _ = io.WriteString(s.w, before+enterScreen)
}

func (s *FullScreen) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on.Swap(false) && !s.away {
		_, _ = io.WriteString(s.w, leaveScreen)
		s.handler.remove()
	}
	s.away = false
}

// suspend and resume are leave and enter for a time, without forgetting that the
// screen is in use.
func (s *FullScreen) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on.Load() && !s.away {
		s.away = true
		_, _ = io.WriteString(s.w, leaveScreen)
		s.handler.remove()
	}
}

func (s *FullScreen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on.Load() && s.away {
		s.away = false
		s.handler.install()
		_, _ = io.WriteString(s.w, enterScreen+s.last)
	}
}

// comeBack is called on another goroutine when hdb was suspended.
func (s *FullScreen) comeBack() {
	s.resume()
	s.tell(func(u User) func() { return u.Lost })
}

// tell has the user told.
func (s *FullScreen) tell(what func(User) func()) {
	s.mu.Lock()
	f := what(s.user)
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// follow is the goroutine that waits for signals.
func (s *FullScreen) follow(signals <-chan os.Signal) {
	for sig := range signals {
		switch sig {
		case syscall.SIGWINCH:
			s.tell(func(u User) func() { return u.Resized })
		case syscall.SIGCONT:
			s.tell(func(u User) func() { return u.Lost })
		case syscall.SIGTSTP:
			s.stopHere()
		}
	}
}

// stopHere suspends hdb as SIGTSTP would have.
func (s *FullScreen) stopHere() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.suspend()
	// To this thread: so it is delivered before the call returns.
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGTSTP)
	s.comeBack()
}
