package regular

import (
	"os"
	"slices"
	"syscall"
)

// kernelFiles are the file systems whose files the kernel makes up, by their numbers in linux/magic.h.
var kernelFiles = []int64{
	0x9fa0,     // proc
	0x62656572, // sysfs
	0x64626720, // debugfs
	0x74726163, // tracefs
	0x73636673, // securityfs
	0x0027e0eb, // cgroup
	0x63677270, // cgroup2
	0x62656570, // configfs
	0xcafe4a11, // bpf
	0xde5e81e4, // efivarfs
	0x6165676c, // pstore
	0xf97cff8c, // selinuxfs
	0x43415d53, // smackfs
	0x42494e4d, // binfmt_misc
	0x6e736673, // nsfs
	0x50495045, // pipefs
	0x534f434b, // sockfs
	0x09041934, // anon_inodefs
}

// madeUp reports whether the kernel makes a file's contents up.
func madeUp(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var st syscall.Statfs_t
	failed := conn.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &st) })
	return failed == nil && err == nil && slices.Contains(kernelFiles, int64(st.Type))
}
