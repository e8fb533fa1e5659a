package line

import (
	"os"
	"syscall"
	"unsafe"
)

// assumedColumns and assumedRows are the size of a terminal without a known size.
const (
	assumedColumns = 80
	assumedRows    = 24
)

// newStandIn makes a terminal that has the assumed size and shows nothing, nil where that fails.
// liner asks it for the size in place of a terminal without one: the size of that is not hdb's to
// set, as the inferior sees it, too.
func newStandIn() *os.File {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	size := [4]uint16{assumedRows, assumedColumns} // tty_ioctl(4): struct winsize
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		f.Close()
		return nil
	}
	return f
}

// width is how many columns liner is to take the terminal to have.
func (t *terminal) width() int {
	if n := columns(); n > 0 || t.standIn == nil {
		return n
	}
	return assumedColumns
}

// assumeSize makes liner ask the replacement while the terminal has no size, until restore is
// called. liner asks the descriptor that package syscall calls Stdout; it writes to os.Stdout, and
// nothing else in hdb uses the former.
func (t *terminal) assumeSize() (restore func()) {
	if columns() > 0 || t.standIn == nil {
		return func() {}
	}
	before := syscall.Stdout
	syscall.Stdout = int(t.standIn.Fd())
	return func() { syscall.Stdout = before }
}
