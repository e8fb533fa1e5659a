package main

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hdb/session"
)

// Patience with a program that was asked to end.
const (
	// secondInterrupt is how soon a second Ctrl-C has to follow to kill.
	secondInterrupt = 2 * time.Second
	// sameInterrupt is how soon the program sees a Ctrl-C that hdb saw too.
	sameInterrupt = 200 * time.Millisecond
)

// recordSignals follows the signals that hdb and the program get while it is
// recorded. The terminal sends Ctrl-C to the program alone when that has the
// terminal's foreground, and to both without a terminal; kill(1) sends it to
// hdb alone, which passes it on.
type recordSignals struct {
	s        *session.Session
	attached bool
	say      func(string)
	ch       chan os.Signal
	done     chan struct{}
	over     atomic.Bool // the recording of a process that lives is to end
	closing  atomic.Bool // the file is being completed

	mu     sync.Mutex
	pid    int       // of the program that was launched, while it can be killed
	last   time.Time // Ctrl-C, of whoever got it
	seenAt time.Time // that the program got
	passed bool      // one is on its way to the program
	asked  int       // other signals that asked for the end
}

func (g *recordSignals) start() {
	g.ch, g.done = make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(g.ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		defer close(g.done)
		for sig := range g.ch {
			g.received(sig.(syscall.Signal))
		}
	}()
}

func (g *recordSignals) stop() {
	if g.ch == nil {
		return // never started
	}
	signal.Stop(g.ch)
	close(g.ch)
	<-g.done
}

// runs tells that the program has been launched; 0 that it is no more.
func (g *recordSignals) runs(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = pid
}

// end has the recording of a process that lives end.
func (g *recordSignals) end() {
	g.over.Store(true)
	_ = g.s.Interrupt() // an error would mean that nothing runs: it is looked at before the next run
}

// received handles a signal to hdb.
func (g *recordSignals) received(sig syscall.Signal) {
	asked := 0
	if sig != syscall.SIGINT {
		g.mu.Lock()
		g.asked++
		asked = g.asked
		g.mu.Unlock()
	}
	switch {
	case asked > 2, asked == 2 && g.closing.Load():
		g.abandon(sig)
	case g.attached:
		g.end()
	case sig == syscall.SIGINT:
		g.interrupted()
		at := time.Now()
		time.AfterFunc(sameInterrupt, func() { g.passOn(at) })
	default:
		if asked == 2 {
			sig = syscall.SIGKILL
		}
		g.send(sig)
	}
}

// abandon has hdb die by the signal, one more than it takes to end the program: the reader of a
// pipe can have hdb wait without end. What was written can be read.
func (g *recordSignals) abandon(sig syscall.Signal) {
	g.say("the recording is not completed: " + sig.String())
	signal.Reset(sig)
	_ = syscall.Kill(syscall.Getpid(), sig) // one may always signal oneself
}

// seen notes a Ctrl-C that the program got.
func (g *recordSignals) seen() {
	g.mu.Lock()
	ours := g.passed
	g.passed, g.seenAt = false, time.Now()
	g.mu.Unlock()
	if !ours {
		g.interrupted()
	}
}

// interrupted handles a Ctrl-C, which hdb and the program may both have got.
func (g *recordSignals) interrupted() {
	g.mu.Lock()
	since, over := time.Since(g.last), g.pid == 0
	if since > sameInterrupt {
		g.last = time.Now()
	}
	g.mu.Unlock()
	switch {
	case since <= sameInterrupt:
	case over:
		g.say("interrupt: the program has ended, its recording is being completed")
	case since < secondInterrupt:
		g.send(syscall.SIGKILL)
	default:
		g.say("interrupt: the program has it; another one within 2 s kills the program")
	}
}

// passOn gives the program a Ctrl-C that hdb got at that time, unless it got it
// itself.
func (g *recordSignals) passOn(at time.Time) {
	g.mu.Lock()
	g.passed = g.seenAt.Before(at.Add(-sameInterrupt))
	pass := g.passed
	g.mu.Unlock()
	if pass {
		g.send(syscall.SIGINT)
	}
}

// send signals the program that was launched.
func (g *recordSignals) send(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 {
		_ = syscall.Kill(g.pid, sig) // it has just ended, if this fails
	}
}
