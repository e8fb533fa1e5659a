package inferior

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// A MappingUsage is a mapping with the bytes of it that take room, as /proc/PID/smaps (proc(5))
// counts them. Huge pages of hugetlbfs are in none of the numbers.
type MappingUsage struct {
	Mapping
	Resident uint64 // its part of the process's RSS
	Dirty    uint64 // resident, and changed since it was read from its file
	Swap     uint64 // swapped out
}

// Usage reads the memory map with what each mapping takes. Of a core file that is not known.
func (tg *target) Usage() ([]MappingUsage, error) {
	if tg.core != nil {
		return nil, &CoreError{tg.core.Process.Signal}
	}
	b, err := os.ReadFile(procfs.Path(tg.pid, "smaps"))
	if err != nil {
		return nil, fmt.Errorf("smaps of process %d: %w", tg.pid, err)
	}
	all, err := parseSmaps(b)
	if err == nil && len(all) == 0 {
		return nil, fmt.Errorf("smaps of process %d: no memory: %w", tg.pid, ErrEnded)
	}
	return all, err
}

// parseSmaps reads /proc/PID/smaps: a line as in maps, then lines of a name and a number of KiB.
func parseSmaps(b []byte) (all []MappingUsage, err error) {
	for line := range bytes.Lines(b) {
		name, value, isField := bytes.Cut(line, []byte(":"))
		if isField && bytes.IndexByte(name, ' ') < 0 {
			if len(all) > 0 {
				all[len(all)-1].count(string(name), value)
			}
			continue
		}
		m, err := parseMapping(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return all, err
		}
		all = append(all, MappingUsage{Mapping: m})
	}
	return all, nil
}

// count adds a field.
func (u *MappingUsage) count(name string, value []byte) {
	text, isSize := strings.CutSuffix(strings.TrimSpace(string(value)), " kB")
	n, err := strconv.ParseUint(text, 10, 54)
	if !isSize || err != nil {
		return
	}
	switch n <<= 10; name {
	case "Rss":
		u.Resident = n
	case "Private_Dirty", "Shared_Dirty":
		u.Dirty += n
	case "Swap":
		u.Swap = n
	}
}

// RSS is how much memory of the target is resident, in bytes, counted page by page
// (/proc/PID/smaps_rollup), where statm may lag behind.
func (tg *target) RSS() (uint64, error) {
	if tg.core != nil {
		return 0, &CoreError{tg.core.Process.Signal}
	}
	f, err := os.Open(procfs.Path(tg.pid, "smaps_rollup"))
	if err != nil {
		return 0, fmt.Errorf("RSS of process %d: %w", tg.pid, err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := bytes.Cut(lines.Bytes(), []byte(":")); ok && string(name) == "Rss" {
			var u MappingUsage
			u.count("Rss", value)
			return u.Resident, nil
		}
	}
	return 0, fmt.Errorf("RSS of process %d: smaps_rollup has none", tg.pid)
}

// A PageRun is a run of pages that are in memory or in swap.
type PageRun struct {
	Low, High addr.Run
	Resident  bool // otherwise swapped out
	Changed   bool // anonymous: not the page of a file
}

// Categories of PAGEMAP_SCAN (linux/fs.h).
const (
	pageFile    = 1 << 2
	pagePresent = machine.PagePresent
	pageSwapped = 1 << 4
	pageZero    = 1 << 5 // the page of zeros that all share: no RSS counts it
	pageGuard   = 1 << 8 // of MADV_GUARD_INSTALL, told as swapped, too; of Linux 6.17
)

// Pages calls yield for the pages of [low, high) that are in memory or in swap, ascending.
// Nothing is read that would make pages in the target.
func (tg *target) Pages(low, high addr.Run, yield func(PageRun)) error {
	if tg.core != nil {
		return &CoreError{tg.core.Process.Signal}
	}
	const userEnd = 1<<47 - pageSize                                             // what the kernel maps above is not in the page tables of the process
	low, high = low&^(pageSize-1), (min(high, userEnd)+pageSize-1)&^(pageSize-1) // else the kernel refuses to look
	if low >= high {
		return nil
	}
	f, err := os.Open(procfs.Path(tg.pid, "pagemap"))
	if err != nil {
		return fmt.Errorf("pages of process %d: %w", tg.pid, err)
	}
	defer f.Close()
	find := readPagemap
	if machine.Has(machine.PagemapScan) {
		find = scanPages
	}
	if err := find(f, low, high, yield); err != nil {
		return fmt.Errorf("pages of process %d: %w", tg.pid, err)
	}
	return nil
}

// scanPages has the kernel look for them, which skips what is not mapped.
func scanPages(f *os.File, low, high addr.Run, yield func(PageRun)) error {
	returned := uint64(pageFile | pagePresent | pageSwapped | pageZero | pageGuard)
	var vec [512]machine.PageRegion
	for low < high {
		arg := machine.ScanArg{Start: uint64(low), End: uint64(high), Vec: &vec, AnyOf: pagePresent | pageSwapped, Returned: returned}
		n, errno := machine.ScanPages(f, &arg)
		if errno == unix.EINVAL && returned&pageGuard != 0 {
			returned &^= pageGuard // the kernel does not know it
			continue
		}
		if errno != 0 {
			return errno
		}
		for _, r := range vec[:n] {
			run := PageRun{addr.Run(r.Start), addr.Run(r.End), r.Categories&pagePresent != 0, r.Categories&pageFile == 0}
			switch {
			case r.Categories&(pageZero|pageGuard) != 0:
			case !run.Resident && returned&pageGuard == 0: // some may be guards, which only the entries tell
				if err := readPagemap(f, run.Low, run.High, yield); err != nil {
					return err
				}
			default:
				yield(run)
			}
		}
		if addr.Run(arg.WalkEnd) <= low {
			break
		}
		low = addr.Run(arg.WalkEnd)
	}
	return nil
}

// readPagemap reads the entries of /proc/PID/pagemap one by one. Pages of zeros are reported as
// resident where their numbers are not seen, which root alone sees.
func readPagemap(f *os.File, low, high addr.Run, yield func(PageRun)) error {
	const present, swapped, file, guard, exclusive, number = 1 << 63, 1 << 62, 1 << 61, 1 << 58, 1 << 56, 1<<55 - 1
	var flags kernelPages
	defer flags.close()
	b := make([]byte, 64<<10)
	low &^= pageSize - 1
	var run PageRun
	var failed error
	for low < high {
		want := min(len(b), int((high-low+pageSize-1)/pageSize)*8)
		n, err := f.ReadAt(b[:want], int64(low/pageSize*8))
		for i := 0; i+8 <= n; i += 8 {
			e := binary.LittleEndian.Uint64(b[i:])
			at := low + addr.Run(i/8)*pageSize
			if e&(present|swapped) == 0 || e&guard != 0 || e&(present|file|exclusive) == present && flags.zero(e&number) {
				continue
			}
			next := PageRun{at, at + pageSize, e&present != 0, e&file == 0}
			if run.High == at && run.Resident == next.Resident && run.Changed == next.Changed {
				run.High = next.High
				continue
			}
			if run.High != 0 {
				yield(run)
			}
			run = next
		}
		if n < 8 {
			failed = err
			break
		}
		low += addr.Run(n/8) * pageSize
	}
	if run.High != 0 {
		yield(run)
	}
	return failed
}

// kernelPages describes pages by their numbers (/proc/kpageflags).
type kernelPages struct {
	file  *os.File
	tried bool
}

// zero reports whether a page is known to be the page of zeros, or the large page of zeros.
func (k *kernelPages) zero(number uint64) bool {
	const zeroPage = 1 << 24 // KPF_ZERO_PAGE
	if number == 0 {
		return false // it is not told
	}
	if !k.tried {
		k.tried = true
		k.file, _ = os.Open("/proc/kpageflags") // nil without the rights to
	}
	if k.file == nil {
		return false
	}
	var b [8]byte
	_, err := k.file.ReadAt(b[:], int64(number*8))
	return err == nil && binary.LittleEndian.Uint64(b[:])&zeroPage != 0
}

func (k *kernelPages) close() {
	if k.file != nil {
		k.file.Close()
	}
}
