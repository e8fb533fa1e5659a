package machine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The entry of the auxiliary vector, and the bit in it, by which the kernel says that programs may use rdfsbase
// (arch/x86/include/uapi/asm/hwcap2.h).
const (
	AtHWCAP2       = 26
	HWCAP2FSGSBase = 1 << 1
)

// tryFSGSBase looks at bit 1 of AT_HWCAP2 (arch/x86/include/uapi/asm/hwcap2.h), which the kernel
// sets where it lets programs use rdfsbase.
func tryFSGSBase() result {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return result{how: err.Error()}
	}
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == AtHWCAP2 {
			bits := binary.LittleEndian.Uint64(b[8:])
			return result{bits&HWCAP2FSGSBase != 0, fmt.Sprintf("AT_HWCAP2 of hdb is %#x; bit 1 is it", bits)}
		}
	}
	return result{how: "hdb was given no AT_HWCAP2"}
}

// tryTSC asks whether hdb may read the time stamp counter, which programs it starts inherit.
func tryTSC() result {
	var mode int32
	if err := unix.Prctl(unix.PR_GET_TSC, uintptr(unsafe.Pointer(&mode)), 0, 0, 0); err != nil {
		return result{how: fmt.Sprintf("prctl(PR_GET_TSC): %v", err)}
	}
	return result{mode == unix.PR_TSC_ENABLE, fmt.Sprintf("prctl(PR_GET_TSC) says %d; %d is it", mode, unix.PR_TSC_ENABLE)}
}

// A ScanArg is struct pm_scan_arg (linux/fs.h).
type ScanArg struct {
	Size, Flags, Start, End, WalkEnd uint64
	Vec                              *[512]PageRegion // a pointer: a stack of Go's may move
	VecLen, MaxPages                 uint64
	Inverted, Mask, AnyOf, Returned  uint64
}

// A PageRegion is struct page_region.
type PageRegion struct{ Start, End, Categories uint64 }

// PagePresent is a category of PAGEMAP_SCAN.
const PagePresent = 1 << 3

// ScanPages is ioctl PAGEMAP_SCAN (Linux 6.7) of a /proc/PID/pagemap: it tells how many elements of Vec it has filled.
func ScanPages(f *os.File, arg *ScanArg) (n int, errno unix.Errno) {
	const pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	arg.Size = uint64(unsafe.Sizeof(*arg))
	arg.VecLen = uint64(len(arg.Vec))
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(arg)))
	runtime.KeepAlive(arg.Vec)
	return min(int(r), len(arg.Vec)), errno
}

// tryPagemapScan has the kernel look for a page of hdb's own that is in memory.
func tryPagemapScan() result {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return result{how: err.Error()}
	}
	defer f.Close()
	size := os.Getpagesize()
	page, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return result{how: fmt.Sprintf("mmap: %v", err)}
	}
	defer func() { _ = unix.Munmap(page) }() // it is mapped
	page[0] = 1
	at := uint64(uintptr(unsafe.Pointer(&page[0])))
	vec := new([512]PageRegion)
	n, errno := ScanPages(f, &ScanArg{Start: at, End: at + uint64(size), Vec: vec, AnyOf: PagePresent, Returned: PagePresent})
	if errno != 0 {
		return result{how: fmt.Sprintf("ioctl(PAGEMAP_SCAN) of hdb's own pages: %v", errno)}
	}
	if n != 1 || vec[0] != (PageRegion{at, at + uint64(size), PagePresent}) {
		return result{how: fmt.Sprintf("ioctl(PAGEMAP_SCAN) finds %d runs, %x, where a page at %#x is in memory", n, vec[0], at)}
	}
	return result{true, "ioctl(PAGEMAP_SCAN) finds a page of hdb's own"}
}

// tryHugePages asks for them. Whether there are any depends on what memory is free.
func tryHugePages() result {
	const enabled = "/sys/kernel/mm/transparent_hugepage/enabled"
	b, err := os.ReadFile(enabled)
	if err != nil {
		return result{how: err.Error()}
	}
	setting := strings.TrimSpace(string(b))
	room, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return result{how: fmt.Sprintf("mmap: %v", err)}
	}
	defer func() { _ = unix.Munmap(room) }() // it is mapped
	if err := unix.Madvise(room, unix.MADV_HUGEPAGE); err != nil {
		return result{how: fmt.Sprintf("madvise(MADV_HUGEPAGE): %v", err)}
	}
	return result{!strings.Contains(setting, "[never]"), "transparent_hugepage/enabled is " + setting}
}

// tryUnfiltered looks whether hdb is under seccomp (seccomp(2)), which what it starts inherits.
func tryUnfiltered() result {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return result{how: err.Error()}
	}
	for line := range bytes.Lines(b) {
		if mode, ok := bytes.CutPrefix(line, []byte("Seccomp:")); ok {
			mode := string(bytes.TrimSpace(mode))
			return result{mode == "0", "Seccomp of hdb's status is " + mode}
		}
	}
	return result{true, "the kernel has no seccomp"}
}

// tryPerfEvents counts the instructions of hdb itself.
func tryPerfEvents() result {
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	attr.Size = uint32(unsafe.Sizeof(*attr))
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return result{how: fmt.Sprintf("perf_event_open(instructions): %v", err)}
	}
	unix.Close(fd)
	return result{true, "perf_event_open(instructions) works"}
}
