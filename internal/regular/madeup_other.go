//go:build !linux

package regular

import "os"

// madeUp reports whether the kernel makes a file's contents up: only of Linux is that known.
func madeUp(*os.File) bool { return false }
