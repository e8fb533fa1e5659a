package line

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/peterh/liner"
)

// terminal is the Reader with editing. liner wants the terminal raw from
// NewLiner to Close; the inferior and everything printed between prompts want
// it as it was found. So both modes are kept, and each ReadLine puts liner's on
// and the other back.
//
// liner reads os.Stdin and beeps at Ctrl-Z. To suspend as a user expects, its
// input is a pipe that a goroutine feeds from the terminal while a prompt is
// open, taking Ctrl-Z out. Keys typed ahead of a prompt stay in the terminal.
//
// On a terminal with few columns liner reads lines without editing, and from its pipe: there Ctrl-D
// does not end the input. So such lines are read from the terminal itself (narrow.go). One without
// a size is taken to have 80 columns (sizeless.go).
type terminal struct {
	state   *liner.State
	columns int               // the fewest that state may take the terminal to have
	standIn *os.File          // asked for the size while the terminal has none, nil: there is none
	tty     *os.File          // own open description of the terminal, so that deadlines work
	lines   *bufio.Reader     // of tty, for lines without editing
	cooked  liner.ModeApplier // as it was found
	between liner.ModeApplier // the same, but Ctrl-C does not drop the lines typed before it
	raw     liner.ModeApplier
	resumed chan os.Signal
	reading sync.Mutex // held while a prompt is open
	open    openPrompt // without editing
	closing sync.Once

	keys  atomic.Pointer[os.File] // write end of liner's input
	ended atomic.Bool             // Close has begun

	history   []string
	completer liner.WordCompleter // nil: none

	// completing gives up the completion under way, nil without one.
	completing atomic.Pointer[context.CancelFunc]

	take       func([]byte) []byte // keys that are not the line editor's; nil none
	away, back func()              // around a suspension; nil nothing
}

// NewTerminal returns the Reader with editing, history and completion for
// standard input. It fails when that is no terminal or one that liner cannot
// drive; then use NewDumb or NewPlain.
func NewTerminal() (Reader, error) {
	if !liner.TerminalSupported() {
		return nil, errors.New("terminal: a terminal of this TERM cannot move its cursor")
	}
	cooked, err := liner.TerminalMode()
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	tty, err := os.OpenFile("/proc/self/fd/0", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	t := &terminal{
		tty: tty, lines: bufio.NewReaderSize(tty, 4096),
		cooked: cooked, resumed: make(chan os.Signal, 1), standIn: newStandIn(),
	}
	if err := t.newState(); err != nil {
		tty.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if err = changeModes(func(m *syscall.Termios) { m.Lflag &^= syscall.ISIG }); err == nil {
		t.raw, err = liner.TerminalMode()
	}
	if err = errors.Join(err, cooked.ApplyMode(), changeModes(func(m *syscall.Termios) { m.Lflag |= syscall.NOFLSH })); err == nil {
		t.between, err = liner.TerminalMode()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("terminal: %w", err), t.Close())
	}
	signal.Notify(t.resumed, syscall.SIGCONT)
	return t, nil
}

// newState makes liner's state, which begins with the size that the terminal has now. Its input is a pipe of its own:
// if the prompt of the state before was given up, a goroutine of that one still reads, until its pipe is closed.
func (t *terminal) newState() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if old := t.keys.Swap(w); old != nil {
		old.Close()
	}
	if t.ended.Load() { // and Close may have found the old one
		w.Close()
	}
	defer t.assumeSize()()
	t.columns = t.width()
	stdin := os.Stdin
	os.Stdin = r // read by NewLiner only; its terminal modes use descriptor 0
	t.state = liner.NewLiner()
	os.Stdin = stdin
	t.columns = min(t.columns, t.width())
	t.state.SetCtrlCAborts(true)
	t.state.SetTabCompletionStyle(liner.TabPrints)
	t.state.SetBeep(false)
	t.state.SetWordCompleter(t.completer)
	for _, l := range t.history {
		t.state.AppendHistory(l)
	}
	return nil
}

// DropsTyped reports whether a signal key drops what was typed before it, as terminals do by
// default (termios(3): NOFLSH). A Reader of NewTerminal reports it.
func DropsTyped(f *os.File) bool {
	var mode syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&mode)))
	return errno == 0 && mode.Lflag&syscall.NOFLSH == 0
}

// changeModes changes the terminal's modes. Those of a prompt make Ctrl-C and Ctrl-Z keys
// like others (termios(3): ISIG): liner does so too, but only after it has printed the
// prompt, and a key pressed at once would be a signal. Between prompts a signal key does
// not drop what was typed before it (NOFLSH).
func changeModes(change func(*syscall.Termios)) error {
	var mode syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&mode))); errno != 0 {
		return errno
	}
	change(&mode)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TCSETS, uintptr(unsafe.Pointer(&mode))); errno != 0 {
		return errno
	}
	return nil
}

func (t *terminal) ReadLine(prompt string) (string, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	line, err := t.edit(prompt)
	if errors.Is(err, liner.ErrInternal) && columns() == 0 { // the terminal has lost its size
		if _, err := io.WriteString(os.Stdout, "\n"); err != nil {
			return "", err
		}
		t.columns = 0
		line, err = t.edit(prompt)
	}
	return line, err
}

// edit is ReadLine with the lock held.
func (t *terminal) edit(prompt string) (string, error) {
	if tooNarrow(prompt, t.width()) {
		return t.readUnedited(prompt)
	}
	if tooNarrow(prompt, t.columns) {
		if err := t.renew(); err != nil {
			return "", err
		}
	}
	if err := t.raw.ApplyMode(); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	done := make(chan struct{})
	if err := t.tty.SetReadDeadline(time.Time{}); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	go func() { defer close(done); t.pump() }()
	restore := t.assumeSize()
	line, err := t.state.Prompt(prompt)
	restore()
	// The pump stops reading before the terminal is anybody else's.
	deadlineErr := t.tty.SetReadDeadline(time.Unix(1, 0))
	<-done
	modeErr := t.between.ApplyMode()
	t.columns = min(t.columns, t.width())
	switch {
	case errors.Is(err, liner.ErrInternal) && columns() > 0 && tooNarrow(prompt, columns()): // it has become narrow
		return t.readUnedited("\n" + prompt)
	case errors.Is(err, liner.ErrPromptAborted):
		return "", ErrCancelled
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", fmt.Errorf("terminal: %w", err)
	}
	return line, errors.Join(deadlineErr, modeErr)
}

// ReadKey reads from the terminal itself: liner knows lines only.
func (t *terminal) ReadKey(prompt string) (key string, err error) {
	if err := errors.Join(t.raw.ApplyMode(), t.tty.SetReadDeadline(time.Time{})); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	defer func() { err = errors.Join(err, t.between.ApplyMode()) }()
	var buf [16]byte // an arrow key sends several bytes
	for {
		if _, err := io.WriteString(os.Stdout, prompt); err != nil {
			return "", err
		}
		n, err := t.tty.Read(buf[:])
		_, _ = io.WriteString(os.Stdout, "\r\x1b[K") // the output continues where the prompt was
		switch {
		case err != nil || n == 0 || buf[0] == ctrlD:
			return "", io.EOF
		case buf[0] == ctrlC:
			return "", ErrCancelled
		case buf[0] == ctrlZ:
			t.suspend()
		default:
			return string(buf[:n]), nil
		}
	}
}

// Keys makes the terminal a KeySource.
func (t *terminal) Keys(typed func([]byte)) (stop func() error, err error) {
	t.reading.Lock()
	if err := errors.Join(t.raw.ApplyMode(), t.tty.SetReadDeadline(time.Time{})); err != nil {
		t.reading.Unlock()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 256)
		for {
			n, err := t.tty.Read(buf)
			for i, keys := range bytes.Split(buf[:n], []byte{ctrlZ}) {
				if i > 0 {
					t.suspend()
				}
				if len(keys) > 0 {
					typed(bytes.Clone(keys))
				}
			}
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded):
				return
			case err != nil || n == 0:
				typed(nil)
				return
			}
		}
	}()
	return func() error {
		defer t.reading.Unlock()
		err := t.tty.SetReadDeadline(time.Unix(1, 0))
		<-done
		return errors.Join(err, t.between.ApplyMode())
	}, nil
}

// pump copies keys from the terminal to liner until its read deadline passes
// or the terminal goes away, which liner then sees as the end.
func (t *terminal) pump() {
	buf := make([]byte, 256)
	for {
		n, err := t.tty.Read(buf)
		for i, keys := range bytes.Split(buf[:n], []byte{ctrlZ}) {
			if i > 0 {
				t.suspend()
			}
			if t.take != nil {
				keys = t.take(keys)
			}
			if cancel := t.completing.Load(); cancel != nil && bytes.IndexByte(keys, ctrlC) >= 0 {
				(*cancel)()
			}
			if _, err := t.keys.Load().Write(keys); err != nil {
				return
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err != nil || n == 0: // hung up
			_, _ = t.keys.Load().Write([]byte{ctrlD})
			return
		}
	}
}

const (
	ctrlC = 3
	ctrlD = 4
	ctrlE = 5
	ctrlZ = 26
)

// suspend stops hdb's process group as the shell's job control expects. After
// `fg`, SIGWINCH makes liner draw its line again.
func (t *terminal) suspend() {
	raw, err := liner.TerminalMode() // liner's own, in the middle of a prompt
	if err != nil {
		return
	}
	select {
	case <-t.resumed: // of an earlier stop that was none of ours
	default:
	}
	_ = t.cooked.ApplyMode()
	if t.away != nil {
		t.away()
		defer t.back()
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		_ = raw.ApplyMode()
		return
	}
	select {
	case <-t.resumed:
	case <-time.After(200 * time.Millisecond):
		// Without a shell above (an orphaned process group) the kernel drops SIGTSTP.
	}
	_ = raw.ApplyMode()
	_ = syscall.Kill(os.Getpid(), syscall.SIGWINCH)
}

func (*terminal) Interactive() bool { return true }

// Share lets a split screen have some keys, and the terminal back while hdb is
// suspended. It is called before the first prompt.
func (t *terminal) Share(take func(typed []byte) (rest []byte), away, back func()) {
	t.take, t.away, t.back = take, away, back
}

func (t *terminal) SetHistory(lines []string) {
	t.history = slices.Clone(lines)
	t.state.ClearHistory()
	for _, l := range lines {
		t.state.AppendHistory(l)
	}
}

func (t *terminal) SetCompleter(f Completer) {
	t.completer = func(line string, pos int) (string, []string, string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		t.completing.Store(&cancel)
		defer t.completing.Store(nil)
		// liner counts runes.
		at := len(string([]rune(line)[:min(pos, utf8.RuneCountInString(line))]))
		return f(ctx, line, at)
	}
	t.state.SetWordCompleter(t.completer)
}

// Close also ends a prompt that is open because hdb was asked to end, or panics:
// liner sets the modes again when it does. Only the first call does anything.
func (t *terminal) Close() (err error) {
	t.closing.Do(func() { err = t.close() })
	return err
}

func (t *terminal) close() error {
	signal.Stop(t.resumed)
	t.ended.Store(true)
	err := errors.Join(t.keys.Load().Close(), t.tty.SetReadDeadline(time.Unix(1, 0)))
	closed := make(chan struct{})
	go func() { defer close(closed); t.reading.Lock() }()
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
	if t.standIn != nil {
		err = errors.Join(err, t.standIn.Close())
	}
	return errors.Join(err, t.state.Close(), t.cooked.ApplyMode(), t.tty.Close())
}
