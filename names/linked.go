package names

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/regular"
	"hdb/symbols"
)

// maxLinked bounds the libraries of a program that does not run.
const maxLinked = 1024

// linked is the program and the libraries that the dynamic linker would load for it (ld.so(8)), the
// program first. What it opens itself by dlopen is not known.
func (r *Resolver) linked() (all []Diagnosis, problem string) {
	r.Program.Object.File.Header()
	all = []Diagnosis{{Path: r.Program.Path, Name: r.Program.Path, obj: r.Program.Object}}
	search := newLibraries(r.cfg.Settings.Sysroot)
	var missing []string
	have := map[string]bool{}
	add := func(name, path string) {
		if path == "" {
			missing = append(missing, name)
			return
		}
		if slices.ContainsFunc(all, func(d Diagnosis) bool { return d.Path == path }) {
			return
		}
		d := Diagnosis{Path: path, Name: path}
		d.obj, d.Err = r.files.get(path)
		all = append(all, d)
	}
	if interp := r.Program.Object.File.Header().Interp; interp != "" {
		add(interp, search.existing(interp))
		have[filepath.Base(interp)] = true
	}
	for i := 0; i < len(all) && len(all) < maxLinked; i++ {
		d := &all[i]
		if d.obj == nil {
			continue
		}
		path, needed := d.Path, d.obj.File.Needed()
		for _, name := range needed.Libraries {
			if !have[name] {
				have[name] = true
				add(name, search.find(name, path, needed))
			}
		}
	}
	if len(missing) > 0 {
		problem = "not found: " + strings.Join(missing, ", ")
	}
	return all, problem
}

// LinkedImages are the files of linked that can be read.
func (r *Resolver) LinkedImages() []Image {
	var out []Image
	all, _ := r.linked()
	for _, d := range all {
		if d.obj != nil {
			out = append(out, Image{Object: d.obj, Name: d.Name, Path: d.Path})
		}
	}
	return out
}

// libraries finds shared libraries as glibc's dynamic linker does.
type libraries struct {
	root   string            // "" or the sysroot
	cached map[string]string // by name: the path in ld.so.cache
}

// maxCache is more than ld.so.cache has, in bytes.
const maxCache = 64 << 20

// systemDirs are searched last: those of Debian, of Fedora and of musl.
var systemDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}

func newLibraries(root string) *libraries {
	l := &libraries{root: root}
	if b, err := regular.Read(filepath.Join(root, "/etc/ld.so.cache"), maxCache); err == nil {
		l.cached = readCache(b)
	}
	return l
}

// existing is the path below the root, "" when nothing is there.
func (l *libraries) existing(path string) string {
	if st, err := os.Stat(filepath.Join(l.root, path)); err != nil || st.IsDir() {
		return ""
	}
	return filepath.Join(l.root, path)
}

// find is the path of a library that the object at path needs.
func (l *libraries) find(name, path string, needed symbols.Needed) string {
	if strings.Contains(name, "/") {
		return l.existing(name)
	}
	own := filepath.Dir(path)
	if l.root != "" {
		own = strings.TrimPrefix(own, filepath.Clean(l.root))
	}
	var dirs []string
	list := func(text string) {
		for dir := range strings.SplitSeq(text, ":") {
			if dir != "" {
				dirs = append(dirs, strings.NewReplacer("$ORIGIN", own, "${ORIGIN}", own, "$LIB", "lib/x86_64-linux-gnu", "${LIB}", "lib/x86_64-linux-gnu").Replace(dir))
			}
		}
	}
	if needed.RunPath == "" {
		list(needed.RPath)
	}
	if l.root == "" {
		list(os.Getenv("LD_LIBRARY_PATH"))
	}
	list(needed.RunPath)
	for _, dir := range dirs {
		if p := l.existing(filepath.Join(dir, name)); p != "" {
			return p
		}
	}
	if p := l.cached[name]; p != "" {
		if p = l.existing(p); p != "" {
			return p
		}
	}
	for _, dir := range systemDirs {
		if p := l.existing(filepath.Join(dir, name)); p != "" {
			return p
		}
	}
	return ""
}

// readCache reads ld.so.cache: a header, entries, strings (glibc, dl-cache.h, struct
// cache_file_new). Offsets count from the beginning of the header.
func readCache(b []byte) map[string]string {
	const magic, header, entry = "glibc-ld.so.cache1.1", 48, 24
	if i := bytes.Index(b, []byte(magic)); i > 0 && i < 1<<24 {
		b = b[i:] // behind a cache of the old format
	}
	if len(b) < header || !bytes.HasPrefix(b, []byte(magic)) {
		return nil
	}
	le := binary.LittleEndian
	text := func(off uint32) string {
		if uint64(off) >= uint64(len(b)) {
			return ""
		}
		s, _, _ := bytes.Cut(b[off:][:min(len(b)-int(off), 4096)], []byte{0})
		return string(s)
	}
	found := map[string]string{}
	const amd64 = 0x0303 // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
	for i := range uint64(le.Uint32(b[len(magic):])) {
		at := header + i*entry
		if at+entry > uint64(len(b)) {
			break
		}
		e := b[at:]
		hwcap := le.Uint64(e[16:])
		name := text(le.Uint32(e[4:]))
		if le.Uint32(e) != amd64 || hwcap != 0 || name == "" || found[name] != "" {
			continue // those for better processors are in folders of their own
		}
		found[name] = text(le.Uint32(e[8:]))
	}
	return found
}
