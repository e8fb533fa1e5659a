package inferior

import (
	"hdb/internal/procfs"
	"os"
)

// StrictSeccomp reports whether t is in strict seccomp (seccomp(2)): the kernel ends it for all
// system calls but read, write, exit and sigreturn.
func (t *Thread) StrictSeccomp() bool {
	mode, _ := procfs.Status(t.TID, "Seccomp")
	return mode == "1"
}

// Confined reports whether the kernel may end t for a system call: by strict seccomp, or by a
// filter. hdb has lived under the filters that it shares with t, in a container for instance; what
// others do is not known.
func (t *Thread) Confined() bool {
	mode, _ := procfs.Status(t.TID, "Seccomp")
	if mode == "" || mode == "0" { // a kernel without it, or none
		return false
	}
	own, _ := procfs.Status(os.Getpid(), "Seccomp")
	filters, ok := procfs.Status(t.TID, "Seccomp_filters")
	ours, _ := procfs.Status(os.Getpid(), "Seccomp_filters")
	return mode == "1" || mode != own || !ok || filters != ours
}
