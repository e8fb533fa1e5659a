package symbols

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hdb/symbols/elf"
)

// findDebugFile looks for the separate debug file of f where gdb does: by build
// ID below each debug directory, then by debug link beside the file, in its
// .debug folder and below the debug directories. problem says why a file that
// was found is not used.
func findDebugFile(f *elf.File, id string, cfg Config) (found *elf.File, problem string) {
	for _, dir := range cfg.debugDirs() {
		if len(id) < 4 {
			break
		}
		path := filepath.Join(cfg.Sysroot, dir, ".build-id", id[:2], id[2:]+".debug")
		d, err := openIdentified(path, id)
		if err != nil {
			problem = noteProblem(problem, err)
			continue
		}
		return d, ""
	}
	if d, why := findLinked(f, id, cfg); d != nil {
		return d, ""
	} else if problem == "" {
		problem = why
	}
	if cfg.Fetch == nil || id == "" {
		return nil, problem
	}
	path, err := cfg.Fetch.DebugInfo(id)
	if err != nil {
		return nil, noteProblem(problem, err)
	}
	d, err := openIdentified(path, id)
	if err != nil {
		return nil, noteProblem(problem, err)
	}
	return d, ""
}

// openIdentified opens the file that must have that build ID.
func openIdentified(path, id string) (*elf.File, error) {
	d, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	if got := d.BuildID(); got != id {
		d.Close()
		return nil, fmt.Errorf("%s: build ID %s, wanted %s", path, got, id)
	}
	return d, nil
}

// findLinked looks for the file of the debug link of f.
func findLinked(f *elf.File, id string, cfg Config) (found *elf.File, problem string) {
	name, crc, ok := f.DebugLink()
	if !ok {
		return nil, ""
	}
	own := filepath.Dir(f.Path)
	if abs, err := filepath.Abs(own); err == nil {
		own = abs
	}
	paths := []string{filepath.Join(own, name), filepath.Join(own, ".debug", name)}
	for _, dir := range cfg.debugDirs() {
		paths = append(paths, filepath.Join(cfg.Sysroot, dir, own, name))
	}
	for _, path := range paths {
		d, err := openLinked(path, f, id, crc)
		if err != nil {
			problem = noteProblem(problem, err)
			continue
		}
		return d, ""
	}
	return nil, problem
}

// noteProblem keeps the first error that is not just a missing file.
func noteProblem(problem string, err error) string {
	if problem == "" && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return problem
}

// openLinked opens a debug link's file and checks that it belongs to f: by build
// ID when both have one, by checksum otherwise.
func openLinked(path string, f *elf.File, id string, crc uint32) (*elf.File, error) {
	d, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	if got := d.BuildID(); id != "" && got != "" {
		if got == id {
			return d, nil
		}
		d.Close()
		return nil, fmt.Errorf("%s: build ID %s, wanted %s (of %s)", path, got, id, f.Path)
	}
	if got := d.CRC32(); got != crc {
		d.Close()
		return nil, fmt.Errorf("%s: checksum %08x, the debug link of %s says %08x", path, got, f.Path, crc)
	}
	return d, nil
}

// findAltFile opens the dwz file of a file with DWARF. nil when there is none or
// it is not the right one: what refers to it then stays unresolved.
func findAltFile(f *elf.File, cfg Config) *elf.File {
	path, id, ok := f.AltLink()
	if !ok {
		return nil
	}
	var paths []string
	if filepath.IsAbs(path) {
		paths = append(paths, filepath.Join(cfg.Sysroot, path))
	} else {
		paths = append(paths, filepath.Join(filepath.Dir(f.Path), path))
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			paths = append(paths, filepath.Join(filepath.Dir(real), path))
		}
	}
	for _, dir := range cfg.debugDirs() {
		if len(id) >= 4 {
			paths = append(paths, filepath.Join(cfg.Sysroot, dir, ".build-id", id[:2], id[2:]+".debug"))
		}
		paths = append(paths, filepath.Join(cfg.Sysroot, dir, ".dwz", filepath.Base(path)))
	}
	for _, p := range paths {
		alt, err := elf.Open(p)
		if err != nil {
			continue
		}
		if alt.BuildID() == id {
			return alt
		}
		alt.Close()
	}
	return nil
}
