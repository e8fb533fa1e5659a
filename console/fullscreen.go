package console

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// A terminalError is why there can be no picture. Its exit code is that of bad use.
type terminalError struct{ what string }

func (e *terminalError) Error() string {
	return e.what + " needs a terminal that can move its cursor, and neither -batch nor --json"
}

var (
	errNoSplit   = &terminalError{"a split screen"}
	errNoMonitor = &terminalError{"the live view"}
)

// fullScreen is the alternate screen of hdb's terminal, which the split screen and
// the live view have by turns. begin and end belong to the console's goroutine, the
// rest is for any.
type fullScreen struct {
	tty     *os.File
	net     *crashNet      // nil: none
	signals chan os.Signal // of the terminal, from the first time on

	mu   sync.Mutex // held for one write
	user screenUser
	w    io.Writer
	last string // what was painted last, and brought the cursor to where it stays
	on   atomic.Bool
	away bool // hdb is being suspended: the terminal is the shell's

	// The handler of SIGTSTP, while it is not installed: Go never gives up one that
	// it has installed, and then the signal would not stop hdb.
	handler signalAction
}

// A screenUser is told, on other goroutines, what becomes of its screen.
type screenUser struct {
	resized func() // or may have been
	lost    func() // somebody else had the terminal
}

// begin gives the terminal to a user. before is written to the screen that is left.
func (s *fullScreen) begin(before string, user screenUser) {
	s.net = newCrashNet(s.tty)
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

// end gives the terminal back.
func (s *fullScreen) end() {
	s.leave()
	s.net.close()
	s.net = nil
}

// write writes to the terminal unless it is somebody else's. Errors are those
// of a terminal that hung up, which the reader finds out.
func (s *fullScreen) write(text, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	if s.on.Load() && !s.away {
		_, _ = io.WriteString(s.w, text)
	}
}

// enter begins the alternate screen, leave gives the terminal back. Between them
// SIGTSTP is handled, so that a Ctrl-Z that is no key because a command runs gives
// the terminal back first.
func (s *fullScreen) enter(before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on.Store(true)
	s.handler.install()
	_, _ = io.WriteString(s.w, before+enterScreen)
}

func (s *fullScreen) leave() {
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
func (s *fullScreen) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on.Load() && !s.away {
		s.away = true
		_, _ = io.WriteString(s.w, leaveScreen)
		s.handler.remove()
	}
}

func (s *fullScreen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on.Load() && s.away {
		s.away = false
		s.handler.install()
		_, _ = io.WriteString(s.w, enterScreen+s.last)
	}
}

// comeBack is called on another goroutine when hdb was suspended.
func (s *fullScreen) comeBack() {
	s.resume()
	s.tell(func(u screenUser) func() { return u.lost })
}

// tell has the user told.
func (s *fullScreen) tell(what func(screenUser) func()) {
	s.mu.Lock()
	f := what(s.user)
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// follow is the goroutine that waits for signals.
func (s *fullScreen) follow(signals <-chan os.Signal) {
	for sig := range signals {
		switch sig {
		case syscall.SIGWINCH:
			s.tell(func(u screenUser) func() { return u.resized })
		case syscall.SIGCONT:
			s.tell(func(u screenUser) func() { return u.lost })
		case syscall.SIGTSTP:
			s.stopHere()
		}
	}
}

// stopHere suspends hdb as SIGTSTP would have.
func (s *fullScreen) stopHere() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.suspend()
	// To this thread: so it is delivered before the call returns.
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGTSTP)
	s.comeBack()
}
