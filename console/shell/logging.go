package shell

import (
	"strings"

	"hdb/console/screen"

	"errors"
	"fmt"
	"os"
	"sync"
)

// A loggingFile has what is printed copied to a file, with the lines that were typed. Lines
// come from any goroutine.
type loggingFile struct {
	mu  sync.Mutex
	f   *os.File // nil: nothing is copied; its name is as it was typed
	err error    // why the last copy ended, nil when it was reported
}

// start begins to copy to a file, behind what it holds unless it is to be overwritten.
func (l *loggingFile) start(path string, overwrite bool) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeDevice == 0 {
		return fmt.Errorf("%s: not a regular file", path)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if overwrite {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.f = f
	return nil
}

// stop ends the copy.
func (l *loggingFile) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	return f.Close()
}

// to is the name of the file that output is being copied to, "" for none.
func (l *loggingFile) to() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return ""
	}
	return l.f.Name()
}

// add copies a line.
func (l *loggingFile) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return
	}
	if _, err := l.f.WriteString(line + "\n"); err != nil {
		l.err = errors.Join(err, l.f.Close())
		l.f = nil
	}
}

// failed is why the copy ended by itself, once.
func (l *loggingFile) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	l.err = nil
	return err
}

// LoggingOn reports whether output is being copied to a file.
func (c *Shell) LoggingOn() bool { return c.logging.to() != "" }

// SetLogging begins or ends the copy, as `set logging` asks.
func (c *Shell) SetLogging(on bool) error {
	path, now := c.Set.Value("logging file"), c.logging.to()
	switch {
	case on && now != "":
		return fmt.Errorf("output is being copied to %s: set logging off first", now)
	case on:
		if err := c.logging.start(path, c.Set.Flag("logging overwrite")); err != nil {
			return err
		}
		c.Say("copying output to %s", path)
	case now != "":
		if err := c.logging.stop(); err != nil {
			return err
		}
		c.Say("done copying output to %s", now)
	}
	return nil
}

// logTyped puts a line of the user's in the log, unless it begins with a blank: then
// the history does not have it, either.
func logTyped(c *Shell, line string) {
	c.host.Moment()
	secret := strings.HasPrefix(line, " ")
	if line = strings.TrimSpace(line); line != "" && !secret && len(c.interp.sources) > 0 { // none: a file of configuration
		c.host.Logged(screen.Clean(line), true)
		c.logging.add("(hdb) " + screen.Clean(line))
	}
}
