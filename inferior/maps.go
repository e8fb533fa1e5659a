package inferior

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"
)

// Maps reads the memory map of the target, ascending.
func (tg *target) Maps() ([]Mapping, error) {
	if tg.core != nil {
		return CoreMaps(tg.core), nil
	}
	return MapsOf(tg.pid)
}

// MapsOf reads the memory map of any process, ascending. None is an error: the process has ended, or is the kernel's.
func MapsOf(pid int) ([]Mapping, error) {
	b, err := os.ReadFile(procfs.Path(pid, "maps"))
	if err != nil {
		return nil, fmt.Errorf("maps of process %d: %w", pid, err)
	}
	var all []Mapping
	for line := range bytes.Lines(b) {
		m, err := parseMapping(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("maps of process %d: no memory: it has ended, or is a kernel thread", pid)
	}
	return all, nil
}

// parseMapping reads one line of /proc/PID/maps, proc(5).
func parseMapping(line string) (Mapping, error) {
	bad := func(what string) (Mapping, error) {
		return Mapping{}, fmt.Errorf("maps line %q: bad %s", line, what)
	}
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 {
		return bad("shape")
	}
	lowText, highText, _ := strings.Cut(fields[0], "-")
	low, err := strconv.ParseUint(lowText, 16, 64)
	if err != nil {
		return bad("start")
	}
	high, err := strconv.ParseUint(highText, 16, 64)
	if err != nil {
		return bad("end")
	}
	offset, err := strconv.ParseUint(fields[2], 16, 64)
	if err != nil {
		return bad("offset")
	}
	inode, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return bad("inode")
	}
	m := Mapping{Low: addr.Run(low), High: addr.Run(high), Perm: fields[1], Offset: offset, Device: fields[3], Inode: inode}
	if len(fields) == 6 {
		m.Path, m.Deleted = strings.CutSuffix(unescapeMaps(strings.TrimLeft(fields[5], " ")), " (deleted)")
	}
	return m, nil
}

// unescapeMaps undoes the one escape of the file, \012 for a newline.
func unescapeMaps(s string) string { return strings.ReplaceAll(s, `\012`, "\n") }

// An AuxEntry is an entry of the auxiliary vector: an AT_ constant (getauxval(3)) with its value.
type AuxEntry = corefile.AuxEntry

// AuxVector is the auxiliary vector the kernel gave the program, without its end.
func (tg *target) AuxVector() ([]AuxEntry, error) {
	if tg.core != nil {
		return tg.core.AuxVector, nil
	}
	b, err := readAuxv(tg.pid)
	return corefile.ParseAuxv(b), err
}

// readAuxv reads the auxiliary vector as the kernel gave it to a process.
func readAuxv(pid int) ([]byte, error) {
	b, err := os.ReadFile(procfs.Path(pid, "auxv"))
	if err != nil {
		return nil, fmt.Errorf("auxiliary vector of process %d: %w", pid, err)
	}
	return b, nil
}

// Auxv is AuxVector by type.
func (tg *target) Auxv() (map[uint64]uint64, error) {
	entries, err := tg.AuxVector()
	if err != nil {
		return nil, err
	}
	v := map[uint64]uint64{}
	for _, e := range entries {
		v[e.Type] = e.Value
	}
	return v, nil
}
