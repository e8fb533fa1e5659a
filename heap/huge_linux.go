package heap

import (
	"syscall"
	"unsafe"
)

const (
	hugeSize = 2 << 20 // of a huge page
	madvHuge = 14      // MADV_HUGEPAGE
)

// hugePages asks for huge pages for memory that was not yet touched. A fault for
// each 4 KiB takes longer than all else that is done with them. What comes of it
// makes no difference but of speed.
func hugePages(p unsafe.Pointer, n uintptr) {
	skip := -uintptr(p) & (hugeSize - 1)
	if n < skip+hugeSize {
		return
	}
	inner := unsafe.Slice((*byte)(unsafe.Add(p, skip)), (n-skip)&^(hugeSize-1))
	_ = syscall.Madvise(inner, madvHuge)
}
