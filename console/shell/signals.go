package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"hdb/console/line"
)

// ErrInterrupted ends a script or a long command after Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// signals turns Ctrl-C into the end of the running command, and SIGTERM, SIGHUP
// and SIGQUIT into an orderly end of hdb, so that an attached process is let go
// with its code as it was. Its goroutine only cancels, interrupts and wakes.
type signals struct {
	ch        chan os.Signal
	wake      chan struct{} // a signal came while no command ran
	done      chan struct{}
	interrupt func() error              // stops the inferior; safe from any goroutine
	pass      func(syscall.Signal) bool // gives it a signal, false: it is hdb's; safe from any goroutine

	mu      sync.Mutex           // guards the next one
	cancels []context.CancelFunc // of the commands that run, at the same time, the innermost last

	going   func() bool // reports whether the inferior runs; safe from any goroutine
	hooking atomic.Bool // the commands of a stop are run

	calls chan func() // what to run while a line is awaited, on the goroutine that awaits it

	beneath atomic.Bool                        // the program runs in the background
	apart   atomic.Pointer[context.CancelFunc] // ends what a line does apart, nil: it does nothing
	pending *reading                           // a line that is read on, nil: none
	reading atomic.Bool                        // a line is awaited, of a prompt or inside a block
	over    atomic.Pointer[chan struct{}]      // closed when the line awaited last is no longer
	ended   atomic.Bool                        // SIGTERM, SIGHUP or SIGQUIT came
}

// start handles signals from now on. It does nothing the second time.
func (s *signals) start(interrupt func() error) {
	if s.ch != nil {
		return
	}
	s.ch, s.wake, s.done = make(chan os.Signal, 4), make(chan struct{}, 1), make(chan struct{})
	s.interrupt = interrupt
	signal.Notify(s.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		defer close(s.done)
		for sig := range s.ch {
			switch {
			case s.pass(sig.(syscall.Signal)):
			case sig == syscall.SIGINT:
				s.deliver()
			default:
				s.end()
			}
		}
	}()
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.ch)
	<-s.done
}

// end ends all that continues: commands, what a line does apart, the run of the inferior, the wait for
// a line.
func (s *signals) end() {
	s.ended.Store(true)
	s.mu.Lock()
	cancels := slices.Clone(s.cancels)
	s.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	if cancel := s.apart.Load(); cancel != nil {
		(*cancel)()
	}
	_ = s.interrupt() // an error means that nothing runs
	s.rouse()
}

// rouse wakes the prompt.
func (s *signals) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// deliver cancels the running command, or wakes the prompt.
func (s *signals) deliver() {
	s.mu.Lock()
	cancel, beside := s.innermost(), len(s.cancels) > 1
	s.mu.Unlock()
	switch {
	case cancel == nil || s.reading.Load():
		s.rouse()
	case !s.beneath.Load():
		cancel()
		// The error is that the inferior is gone or stopped already: nothing to interrupt.
		_ = s.interrupt()
	case beside: // what is asked while the program runs ends, not its run
		cancel()
	default: // the program continues, and the key is for what a line does apart
		if cancel := s.apart.Load(); cancel != nil {
			(*cancel)()
		}
		s.cancelHooks()
	}
}

// cancelHooks cancels the command in the background while it runs the commands of a stop:
// nothing else of it is to be ended but by interrupt.
func (s *signals) cancelHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.innermost(); s.hooking.Load() && !s.going() && cancel != nil {
		cancel()
	}
}

// innermost cancels the command that runs last of all, nil: none runs. The caller has mu.
func (s *signals) innermost() context.CancelFunc {
	if len(s.cancels) == 0 {
		return nil
	}
	return s.cancels[len(s.cancels)-1]
}

// command begins a command that Ctrl-C cancels.
func (s *signals) command() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	outer := len(s.cancels)
	s.cancels = append(s.cancels, cancel)
	s.mu.Unlock()
	if s.terminated() {
		cancel() // end may have come before
	}
	return ctx, func() {
		s.mu.Lock()
		s.cancels = s.cancels[:outer]
		s.mu.Unlock()
		cancel()
	}
}

// terminated tells that hdb was asked to end.
func (s *signals) terminated() bool { return s.ended.Load() }

// read reads a line while no command runs. A signal gives up the line: at a
// person's prompt Ctrl-C only cancels it, anything else ends the input.
func (s *signals) read(in line.Reader, prompt string) (string, error) {
	return s.await(in, func() (string, error) { return in.ReadLine(prompt) })
}

// await is read with another way to read from in.
func (s *signals) await(in line.Reader, read func() (string, error)) (string, error) {
	if s.terminated() {
		return "", io.EOF
	}
	rd := s.begin(in, read)
	defer s.finish(rd)
	for {
		select {
		case r := <-rd.ch:
			return r.line, r.err
		case f := <-s.calls:
			f()
		case <-s.wake:
			if s.terminated() || !in.Interactive() {
				return "", io.EOF
			}
			if r, ok := in.(line.Interruptible); ok {
				r.Interrupted()
			}
		}
	}
}

// A reading is a line that is awaited.
type reading struct {
	ch   chan lineRead
	over chan struct{} // closed when it is awaited no longer
}

type lineRead struct {
	line string
	err  error
}

// begin has a line read on a goroutine of its own, or continues with the one that is pending.
func (s *signals) begin(in line.Reader, read func() (string, error)) *reading {
	select {
	case <-s.wake: // of an earlier signal
	default:
	}
	s.reading.Store(true)
	if s.terminated() {
		s.rouse() // that was no earlier one
	}
	if rd := s.pending; rd != nil {
		s.pending = nil
		return rd
	}
	rd := &reading{ch: make(chan lineRead, 1), over: make(chan struct{})}
	s.over.Store(&rd.over)
	go func() {
		line, err := read()
		rd.ch <- lineRead{line, err}
	}()
	return rd
}

// finish ends the wait for a line.
func (s *signals) finish(rd *reading) {
	s.reading.Store(false)
	close(rd.over)
}

// ask runs f on the goroutine that awaits a line, and reports whether it has. The line's reader
// calls it: the session is its owner's alone, and the kernel tells only the owner's thread about a
// stopped process. f is left out when the line is given up before.
func (s *signals) ask(f func()) bool {
	over := *s.over.Load()
	ran := make(chan struct{})
	run := func() {
		select {
		case <-over: // of an earlier line
		default:
			f()
			close(ran)
		}
	}
	select {
	case s.calls <- run:
	case <-over:
		return false
	}
	select {
	case <-ran:
		return true
	case <-over:
		return false
	}
}
