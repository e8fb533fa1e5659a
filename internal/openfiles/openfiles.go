// Package openfiles ends hdb at once where it may not open enough files: the modules of
// a program would be left out of its recording, or Go's own poller would fail. It
// imports syscall alone, so that its init comes before those of packages that open
// files.
package openfiles

import "syscall"

// minFiles is how many files hdb must be allowed to have open.
const minFiles = 128

// exitTarget is the exit code when hdb cannot begin, as in package main.
const exitTarget = 4

func init() {
	var limit syscall.Rlimit
	// Go has raised the soft limit to the hard one.
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max >= minFiles {
		return
	}
	text := "error: open files: the limit is " + digits(limit.Max) + " and hdb needs " + digits(minFiles) + ": ulimit -n " + digits(minFiles) + "\n"
	_, _ = syscall.Write(2, []byte(text)) // there is nobody else to tell
	syscall.Exit(exitTarget)
}

// digits is strconv.FormatUint without its import, which may come with packages that open
// files.
func digits(n uint64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}
