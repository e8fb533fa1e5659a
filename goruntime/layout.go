// Package goruntime knows where the runtimes of Go 1.18 to 1.27 keep what: the
// goroutine of a thread, spans of the heap and their bitmaps.
//
// Nothing of it is documented by Go; the numbers are those of the runtime's own DWARF on
// amd64 (runtime.g, runtime.m, runtime.mspan), which stripped programs do not have. They
// have been the same in all releases of a minor version. A test compares them with the
// toolchains that it can get.
package goruntime

import (
	"fmt"
	"strconv"
	"strings"
)

// The oldest and newest minor versions that Of knows.
const (
	Oldest = 18
	Newest = 27
)

// A Layout has offsets in structures of the runtime, in bytes.
type Layout struct {
	Minor int // of Go 1.Minor

	// In runtime.g. The stack's bounds come first: lo, hi.
	GM           int  // its m
	GoID         int  // uint64
	GoPC         int  // where the go statement is that made it: the address behind
	StartPC      int  // its function
	ParentGoID   int  // uint64, 0 before 1.21
	Sched        int  // gobuf, where it continues: sp, pc
	SchedBP      int  // in it: the frame pointer
	SyscallSP    int  // where it entered a system call: sp, pc
	Status       int  // uint32, atomicstatus
	WaitSince    int  // int64, nanoseconds: of the first collection that found it waiting
	WaitReason   int  // uint8
	LockedM      int  // the m that alone may run it
	CurG         int  // in runtime.m: the user's goroutine; g0 comes first
	TLS          int  // thread-local storage of a program without C: the FS base is 8 bytes into it
	ProcID       int  // uint64, its thread as the kernel numbers it
	GSignal      int  // the goroutine of its signal stack
	VDSOSP       int  // where it called the vDSO: sp, pc; 0 while it does not
	AllLink      int  // the next m
	StartAddr    int  // in runtime.mspan
	FreeIndex    int  // slots below may be in use that were not at the last sweep
	NElems       int  // slots,
	Narrow       bool // these two are uint16, else uint64
	AllocBits    int  // pointer to what was in use at the last sweep
	SpanClass    int  // uint8: size class << 1 | 1 if there are no pointers
	ElemSize     int  // bytes of a slot
	ArenaChunk   int  // uint8: the span is a user's arena, 0 before 1.20
	MallocHeader bool // blocks with pointers, of over 512 bytes and in a size class, begin 8 bytes into their slots
}

// HeaderFrom is the size of slots from which on blocks with pointers have a header, where
// Layout.MallocHeader says that they do (runtime.minSizeForMallocHeader).
const HeaderFrom = 513

// MaxSmallSlot is the size of the largest slot that shares its span with others (runtime/sizeclasses.go).
const MaxSmallSlot = 32 << 10

// TinySize bounds the blocks without pointers that share slots (runtime.maxTinySize), and
// is the size of these slots.
const TinySize = 16

// Of returns the layout of a version, named as runtime.Version does: "go1.22.3", "go1.27-devel X:..".
func Of(version string) (Layout, error) {
	minor, err := minorOf(version)
	if err != nil {
		return Layout{}, err
	}
	if minor < Oldest || minor > Newest {
		return Layout{}, fmt.Errorf("the Go runtime %s: its structures are not known (known are go1.%d to go1.%d)", version, Oldest, Newest)
	}
	l := Layout{
		Minor: minor, GM: 48, GoID: 152, CurG: 192, TLS: 136, Sched: 56, SchedBP: 48, SyscallSP: 112, ProcID: 72, AllLink: 352,
		StartAddr: 24, FreeIndex: 48, NElems: 56, AllocBits: 72, SpanClass: 98, ElemSize: 104,
	}
	switch {
	case minor <= 20:
		l.GoPC, l.StartPC = 296, 312
	case minor == 23 || minor == 24:
		l.GoID, l.ParentGoID, l.GoPC, l.StartPC = 160, 280, 288, 304
	case minor >= 26:
		l.ParentGoID, l.GoPC, l.StartPC = 280, 288, 304
	default:
		l.ParentGoID, l.GoPC, l.StartPC = 272, 280, 296
	}
	if minor >= 25 {
		l.CurG, l.ProcID, l.TLS, l.SchedBP, l.SyscallSP = 184, 64, 128, 40, 104
	}
	l.GSignal = l.ProcID + 8
	switch minor {
	case 21:
		l.AllLink, l.VDSOSP = 336, 808
	case 22:
		l.AllLink, l.VDSOSP = 328, 1120
	case 23:
		l.VDSOSP = 880
	case 24:
		l.VDSOSP = 904
	case 25:
		l.AllLink, l.VDSOSP = 344, 896
	case 26, 27:
		l.VDSOSP = 896
	default:
		l.AllLink, l.VDSOSP = 336, 800
	}
	l.Status, l.WaitSince, l.WaitReason = l.GoID-8, l.GoID+16, l.GoID+24
	switch {
	case minor <= 20:
		l.LockedM = 232
	case minor == 23 || minor == 24:
		l.LockedM = 216
	default:
		l.LockedM = 208
	}
	switch {
	case minor == 20:
		l.ArenaChunk = 101
	case minor == 21:
		l.SpanClass, l.ArenaChunk, l.ElemSize = 106, 109, 112
	case minor >= 22:
		l.NElems, l.Narrow, l.AllocBits, l.ArenaChunk, l.MallocHeader = 50, true, 64, 101, true
	}
	return l, nil
}

// minorOf is the 22 of "go1.22.3".
func minorOf(version string) (int, error) {
	rest, ok := strings.CutPrefix(version, "go1.")
	end := 0
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	if !ok || err != nil {
		return 0, fmt.Errorf("the Go runtime has %q for its version, which is none", version)
	}
	return n, nil
}
