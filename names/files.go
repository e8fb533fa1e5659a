package names

import (
	"errors"
	"os"
	"path/filepath"

	"hdb/symbols"
)

// files are the opened files with symbols. They stay open across runs: they are kept by
// identity, so a rebuilt program is read again.
type files struct {
	r    *Resolver
	open map[fileID]*symbols.Object
	// retired files were replaced. They stay open: unwind tables point into them.
	retired []*symbols.Object
}

type fileID struct {
	path       string
	size       int64
	mtimeNanos int64
	user       int // whose rights its debug files were opened with, -1: hdb's own
}

func (f *files) id(path string, st os.FileInfo) fileID {
	return fileID{path, st.Size(), st.ModTime().UnixNano(), f.r.Sources.User.ID()}
}

func (f *files) config() symbols.Config {
	cfg := symbols.Config{DebugDirs: f.r.cfg.Settings.DebugDirs, Sysroot: f.r.cfg.Settings.Sysroot, User: f.r.Sources.User, Cache: f.r.cfg.Cache}
	if f.r.Debuginfod.Mode() != DebuginfodOff {
		cfg.Fetch = f.r.Debuginfod
	}
	return cfg
}

// get opens a file once for all runs.
func (f *files) get(path string) (*symbols.Object, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	id := f.id(path, st)
	if obj := f.open[id]; obj != nil {
		return obj, nil
	}
	obj, err := symbols.Open(path, f.config())
	if err != nil {
		return nil, err
	}
	f.open[id] = obj
	return obj, nil
}

// withID opens the debug file with that build ID in place of a file that is gone; nil
// if there is none.
func (f *files) withID(id string) *symbols.Object {
	if len(id) < 4 {
		return nil
	}
	for _, dir := range f.r.cfg.Settings.DebugDirs {
		path := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if obj, err := f.get(path); err == nil && obj.File.BuildID() == id {
			return obj
		}
	}
	if path, err := f.r.Debuginfod.find(id); err == nil && path != "" {
		if obj, err := f.get(path); err == nil && obj.File.BuildID() == id {
			return obj
		}
	}
	return nil
}

// fetch opens the debug file with that build ID from a server; nil without an error if
// no server may be asked. The caller closes it.
func (f *files) fetch(id string) (*symbols.Object, error) {
	path, err := f.r.Debuginfod.find(id)
	if err != nil || path == "" {
		return nil, err
	}
	return symbols.Open(path, f.config()) // the client has compared the build ID
}

// replace puts obj, the file at path, in the place of old, which stays open.
func (f *files) replace(old, obj *symbols.Object, path string) {
	for id, o := range f.open {
		if o == old {
			delete(f.open, id)
		}
	}
	if old != nil {
		f.retired = append(f.retired, old)
	}
	if st, err := os.Stat(path); err == nil {
		f.open[f.id(path, st)] = obj
	} else {
		f.retired = append(f.retired, obj)
	}
}

// retire has a file closed with the others.
func (f *files) retire(obj *symbols.Object) { f.retired = append(f.retired, obj) }

func (f *files) close() error {
	var errs []error
	for _, obj := range f.open {
		errs = append(errs, obj.Close())
	}
	for _, obj := range f.retired {
		errs = append(errs, obj.Close())
	}
	clear(f.open)
	f.retired = nil
	return errors.Join(errs...)
}
