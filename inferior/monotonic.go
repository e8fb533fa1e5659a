package inferior

import "golang.org/x/sys/unix"

// Monotonic is the time on the clock that programs measure with, CLOCK_MONOTONIC, in
// nanoseconds; 0 if the kernel does not tell.
func Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
