package names

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/procfs"
	"hdb/symbols"
)

// jitNames names code that is in no file: by the list of a runtime that speaks gdb's JIT interface,
// or by the map that one writes for perf. Both are read when such code has to be named, again after
// the process ran. What was read stays when the process is gone, for the stacks that it left.
type jitNames struct {
	wanted atomic.Bool // a recorded stack may be of such code
	mu     sync.Mutex
	stale  bool // the process ran since the list was read
	images map[symbols.JITEntry]jitImage
	order  []symbols.JITEntry  // as in the process
	gone   []*symbols.JITImage // taken back or written over, of which recorded stacks may be
	desc   []addr.Run          // descriptors of the modules,
	mods   int                 // as many as there were then

	tmp   *os.Root // the process's /tmp, which stays open when the process is gone; nil without
	name  string   // of the map in it
	paths []string // where the map may be as well
	owner uint32   // of the process
	read  mapStamp
	perf  *symbols.PerfMap
}

// JIT names the code of the process that is in no file.
type JIT struct {
	r     *Resolver
	names *jitNames // of this process or the last; nil before any
}

// begin prepares for a process.
func (t *JIT) begin(pid int) {
	t.names.close()
	t.names = newJITNames(pid)
}

// maxJITGone is how many images are kept that the process has no more.
const maxJITGone = 10_000

// A jitImage is what was read of an image: img is nil when it is none.
type jitImage struct {
	img *symbols.JITImage
	sum [sha256.Size]byte // of its bytes: code that is freed makes room for other code
}

// mapStamp tells when a map has changed.
type mapStamp struct {
	path string
	size int64
	mod  time.Time
}

// newJITNames prepares for the process pid. Its map is named by the number that it
// has for itself, and is in its own /tmp.
func newJITNames(pid int) *jitNames {
	j := &jitNames{stale: true, images: map[symbols.JITEntry]jitImage{}}
	if st, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			j.owner = sys.Uid
		}
	}
	j.name = fmt.Sprintf("perf-%d.map", procfs.OwnPID(pid))
	tmp := procfs.Path(pid, "root/tmp")
	j.paths = []string{filepath.Join(tmp, j.name)}
	if root, err := os.OpenRoot(tmp); err == nil {
		j.tmp = root
	}
	here, hereErr := os.Readlink("/proc/self/ns/mnt")
	there, thereErr := os.Readlink(procfs.Path(pid, "ns/mnt"))
	if hereErr == nil && thereErr == nil && here == there { // it may have another root
		j.paths = append(j.paths, filepath.Join("/tmp", j.name))
	}
	return j
}

func (j *jitNames) ran() {
	if j != nil {
		j.mu.Lock()
		j.stale = true
		j.mu.Unlock()
	}
}

// frames names code that is in no module, as it is in the process now.
func (t *JIT) frames(c addr.Code) []symbols.Frame {
	if all := t.named(c); len(all) > 0 {
		return all[0]
	}
	return nil
}

// named is what all that is known says of code that is in no module: what the process
// has now, then what it had.
func (t *JIT) named(c addr.Code) (all [][]symbols.Frame) {
	j := t.names
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stale {
		j.stale = false
		j.readImages(t.r)
		j.readMap()
	}
	look := func(img *symbols.JITImage) {
		if img == nil {
			return
		}
		if frames := img.Lookup(c.Lookup()); frames != nil {
			all = append(all, frames)
		}
	}
	for _, e := range j.order {
		look(j.images[e].img)
	}
	for _, img := range j.gone {
		look(img)
	}
	if len(all) == 0 && j.perf != nil {
		if f, ok := j.perf.Lookup(c.Lookup()); ok {
			all = append(all, []symbols.Frame{f})
		}
	}
	return all
}

// Want tells that a stack was recorded that may be of code in no module. It
// reports whether that is the first one: then Read shall be called soon, as a
// runtime that ends takes its code back first. Any goroutine may call it.
func (t *JIT) Want() (first bool) { return t.names != nil && !t.names.wanted.Swap(true) }

// Wanted reports whether Want was called for this process.
func (t *JIT) Wanted() bool { return t.names != nil && t.names.wanted.Load() }

// Read reads the names of code that was made at run time now. What the process has at the next moment may be other ones.
func (t *JIT) Read() {
	j := t.names
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.readImages(t.r)
	j.readMap()
	j.stale = true
}

// readImages follows the lists of all modules that have one.
func (j *jitNames) readImages(r *Resolver) {
	if r.mem == nil {
		return
	}
	if n := len(r.Modules.list); n != j.mods {
		j.mods, j.desc = n, nil
		for _, mod := range r.Modules.list {
			obj, _ := r.Modules.Object(mod)
			if obj == nil {
				continue
			}
			if sym, ok := obj.Symtab.Symbol(symbols.JITDescriptor); ok && sym.Defined {
				j.desc = append(j.desc, sym.Addr.Run(mod.Bias))
			}
		}
	}
	var order []symbols.JITEntry
	failed := 0
	for _, at := range j.desc {
		list, err := symbols.ReadJITList(r.mem, at)
		if err != nil && len(list) == 0 {
			failed++ // an unused copy of the variable, or the process has gone
			continue
		}
		order = append(order, list...)
	}
	if failed == len(j.desc) {
		return
	}
	before, old := j.order, j.images
	j.order = order
	j.images = map[symbols.JITEntry]jitImage{}
	for _, e := range order {
		if _, ok := j.images[e]; !ok {
			j.images[e] = readJITImage(r.mem, e, old[e])
		}
	}
	for _, e := range before { // in the same order each time
		was := old[e].img
		delete(old, e) // it may be listed twice
		switch {
		case was == nil || j.images[e].img == was:
		case j.wanted.Load() && len(j.gone) < maxJITGone:
			j.gone = append(j.gone, was)
		default:
			was.Close()
		}
	}
}

// readJITImage is the image in memory: known, if that is what lies there still.
func readJITImage(mem io.ReaderAt, e symbols.JITEntry, known jitImage) jitImage {
	image := make([]byte, e.Size)
	if _, err := mem.ReadAt(image, int64(e.Addr)); err != nil {
		return jitImage{}
	}
	sum := sha256.Sum256(image)
	if sum == known.sum {
		return known
	}
	img, err := symbols.ReadJITImage(image, symbols.Config{})
	if err != nil {
		img = nil
	}
	return jitImage{img, sum}
}

// readMap reads the map if it is there and has changed.
func (j *jitNames) readMap() {
	for i, path := range j.paths {
		if j.readFrom(os.Lstat, os.OpenFile, path) || i == 0 && j.tmp != nil && j.readFrom(j.tmp.Lstat, j.tmp.OpenFile, j.name) {
			return
		}
	}
}

// readFrom reads the file at path, and reports whether it is there. It must be a file of
// the process's owner or of root: anybody can write into /tmp.
func (j *jitNames) readFrom(lstat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error), path string) bool {
	st, err := lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	if own, ok := st.Sys().(*syscall.Stat_t); ok && own.Uid != 0 && own.Uid != j.owner && int(own.Uid) != os.Geteuid() {
		return false
	}
	stamp := mapStamp{path, st.Size(), st.ModTime()}
	if stamp.size == j.read.size && stamp.mod.Equal(j.read.mod) {
		return true
	}
	f, err := open(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a pipe may have taken its place
	if err != nil {
		return false
	}
	m, err := symbols.ReadPerfMap(f)
	f.Close()
	if err == nil {
		j.perf, j.read = m, stamp
	}
	return true
}

func (j *jitNames) close() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, i := range j.images {
		if i.img != nil {
			i.img.Close()
		}
	}
	for _, img := range j.gone {
		img.Close()
	}
	j.images, j.order, j.gone = map[symbols.JITEntry]jitImage{}, nil, nil
	if j.tmp != nil {
		j.tmp.Close()
		j.tmp = nil
	}
}

// chain is frames for a recorded stack: of what has lain at the address since. Where that is code
// of several names the frame has all of them, as it is not known which it was.
func (t *JIT) chain(c addr.Code) []capture.Frame {
	all := t.named(c)
	if len(all) == 0 {
		return nil
	}
	var names []string
	for _, frames := range all {
		name := frames[len(frames)-1].Function // not the function of a call inlined there
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		all[0] = []symbols.Frame{{Function: severalNames(names), Source: symbols.FromJIT}}
	}
	var chain []capture.Frame
	for _, f := range all[0] {
		chain = append(chain, captureFrame(f, c, 0))
	}
	return chain
}

// severalNames is the name of code that may be any of several functions, a few of which
// it tells.
func severalNames(names []string) string {
	const few = 3
	text := strings.Join(names[:min(len(names), few)], " or ")
	switch more := len(names) - few; {
	case more == 1:
		text += " or 1 other"
	case more > 1:
		text += fmt.Sprintf(" or %d others", more)
	}
	return text
}
