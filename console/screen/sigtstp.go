package screen

import (
	"syscall"
	"unsafe"
)

// A signalAction is what the kernel does at SIGTSTP, see rt_sigaction(2): 32 bytes at most, all
// zero for the default. It is kept here while the default holds.
type signalAction [4]uint64

// remove makes SIGTSTP stop hdb, and keeps the handler that there was.
func (a *signalAction) remove() {
	if *a == (signalAction{}) {
		a.exchange(signalAction{})
	}
}

// install puts the handler back.
func (a *signalAction) install() {
	if *a != (signalAction{}) {
		a.exchange(*a)
		*a = signalAction{}
	}
}

// exchange sets an action and keeps the one before. The call cannot fail: signal and
// addresses are good.
func (a *signalAction) exchange(with signalAction) {
	const setBytes = 8 // of a kernel's sigset_t
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP), uintptr(unsafe.Pointer(&with)), uintptr(unsafe.Pointer(a)), setBytes, 0, 0)
}
