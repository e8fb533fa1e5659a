// Package limits ends hdb at once where it may not open enough files or start enough threads: the
// modules of a program would be left out of its recording, or Go's runtime would die with a dump of its own. It
// imports next to nothing, so that its init comes before those of packages that open
// files.
package limits

import (
	"runtime"
	"syscall"
)

// What hdb must be allowed to have: files that are open, threads, and those that Go starts for each processor.
const (
	minFiles   = 128
	minThreads = 40
	perCPU     = 2
)

// exitTarget is the exit code when hdb cannot begin, as in package main.
const exitTarget = 4

func init() {
	var limit syscall.Rlimit
	// Go has raised the soft limit to the hard one.
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < minFiles {
		end("open files: the limit is " + digits(limit.Max) + " and hdb needs " + digits(minFiles) + ": ulimit -n " + digits(minFiles))
	}
	const rlimitNPROC, enough = 6, 1 << 12 // few users have as many threads: counting them takes time
	err := syscall.Getrlimit(rlimitNPROC, &limit)
	if err != nil || limit.Cur >= enough || syscall.Getuid() == 0 { // root is exempt (getrlimit(2))
		return
	}
	need := uint64(minThreads + perCPU*runtime.NumCPU())
	if have := threads(uint32(syscall.Getuid())); have+need > limit.Cur {
		end("threads: the limit is " + digits(limit.Cur) + ", user " + digits(uint64(syscall.Getuid())) + " has " + digits(have) + " and hdb needs " + digits(need) + " more: ulimit -u " + digits(have+need))
	}
}

// end ends hdb. Nothing can be done if that fails.
func end(text string) {
	_, _ = syscall.Write(2, []byte("error: "+text+"\n"))
	syscall.Exit(exitTarget)
}

// threads counts those of a user.
func threads(user uint32) (n uint64) {
	fd, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	buf := make([]byte, 1<<14)
	for {
		size, err := syscall.ReadDirent(fd, buf)
		if err != nil || size <= 0 {
			return n
		}
		_, _, names := syscall.ParseDirent(buf[:size], -1, nil)
		for _, name := range names {
			var st syscall.Stat_t
			if name[0] >= '1' && name[0] <= '9' && syscall.Stat("/proc/"+name+"/task", &st) == nil && st.Uid == user {
				n += st.Nlink - 2 // a directory for each thread, in addition to . and ..
			}
		}
	}
}

// digits is strconv.FormatUint without its import, which may come with packages that open
// files.
func digits(n uint64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}
