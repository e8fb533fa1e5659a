package outfile

import (
	"syscall"
	"unsafe"
)

// renameNew renames a file to a name that nothing has (renameat2(2)). Unlike a link, it lets the
// descriptor of an open file show the new name in /proc/self/fd.
func renameNew(from, to string) error {
	const renameat2, noReplace = 316, 1
	atCWD := -100 // AT_FDCWD
	a, err := syscall.BytePtrFromString(from)
	if err != nil {
		return err
	}
	b, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	if _, _, errno := syscall.Syscall6(renameat2, uintptr(atCWD), uintptr(unsafe.Pointer(a)), uintptr(atCWD), uintptr(unsafe.Pointer(b)), noReplace, 0); errno != 0 {
		return errno
	}
	return nil
}
