package shell

import (
	"fmt"
	"time"

	"hdb/capture"
	"hdb/console/screen"
	"hdb/internal/units"
)

// When a command tells how far it is, and how often.
const (
	progressFrom  = time.Second
	progressEvery = 200 * time.Millisecond
)

// showReading shows at a terminal how many events a command has read, if it takes
// longer than a second, until stop is called.
func showReading(c *Shell, r *capture.Reading) (stop func()) {
	if _, _, tty := screen.TerminalSize(c.Err); !tty || !c.Interactive() {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for wait := progressFrom; ; wait = progressEvery {
			select {
			case <-over:
				c.Notices.Progress(c.Opt.Err, "")
				return
			case <-time.After(wait):
				if n := r.Events(); n > 0 {
					c.Notices.Progress(c.Opt.Err, units.Grouped(n)+" events read (Ctrl-C gives up)")
				}
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// When a program that runs in single steps tells how far it is: at first, then from one line to the next.
const (
	stepsFrom  = 3 * time.Second
	stepsEvery = 10 * time.Second
)

// showSteps tells at a terminal how many instructions the program has run in single steps, if a command takes
// longer than some seconds, until stop is called. These lines stay: the program may print between them.
func showSteps(c *Shell) (stop func()) {
	taken := c.host.StepsTaken()
	if _, _, tty := screen.TerminalSize(c.Err); !tty || c.Opt.JSON || taken == nil {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		before, first := taken(), taken()
		for wait := stepsFrom; ; wait = stepsEvery {
			began := time.Now()
			select {
			case <-over:
				return
			case <-time.After(wait):
				now := taken()
				if now > before {
					c.Notify(stepsLine(now-first, float64(now-before)/time.Since(began).Seconds()))
				}
				before = now
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// stepsLine says how many steps were taken, and how many a second.
func stepsLine(steps uint64, rate float64) string {
	return fmt.Sprintf("watching by single steps: %s so far, %s a second (Ctrl-C stops the program)", units.Count(steps, "instruction"), units.Grouped(uint64(rate)))
}
