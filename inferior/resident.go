package inferior

import (
	"fmt"
	"os"

	"hdb/internal/procfs"
)

// Resident is how much of a process's memory is resident, in bytes: the second
// field of /proc/PID/statm (proc(5)), which may lag behind by some pages a thread.
// Any goroutine may ask.
func Resident(pid int) (uint64, error) {
	b, err := os.ReadFile(procfs.Path(pid, "statm"))
	if err != nil {
		return 0, err
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0, fmt.Errorf("/proc/%d/statm: %w", pid, err)
	}
	return resident * uint64(os.Getpagesize()), nil
}
