// Package openfiles ends hdb at once where it may not open enough files: the modules of
// a program would be left out of its recording, or Go's own poller would fail. It
// imports syscall alone, so that its init comes before those of packages that open
// files.
package openfiles

import "syscall"

// Fewest is how many files hdb must be allowed to have open.
const Fewest = 128

// exitTarget is the exit code of what cannot begin.
const exitTarget = 4

func init() {
	var limit syscall.Rlimit
	// Go has raised the soft limit to the hard one.
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max >= Fewest {
		return
	}
	text := "error: open files: the limit is " + digits(limit.Max) + " and hdb needs " + digits(Fewest) + ": ulimit -n " + digits(Fewest) + "\n"
	_, _ = syscall.Write(2, []byte(text)) // there is nobody else to tell
	syscall.Exit(exitTarget)
}

// digits is strconv's FormatUint, which would come too late.
func digits(n uint64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}
