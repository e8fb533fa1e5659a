package heaps

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/heap/jemalloc"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
	"hdb/internal/modkind"
	"hdb/names"
	"hdb/session/target"
	"hdb/symbols"
)

// An allocatorMark is how an allocator is recognized in a module.
type allocatorMark struct {
	name      string
	functions []string // that only it has
	text      []byte   // constant that only it has, for files without symbols; nil: none
}

// allocatorMarks are those of allocators other than glibc's.
var allocatorMarks = []allocatorMark{
	{"jemalloc", []string{"mallctl", "je_mallctl"}, []byte("<jemalloc>: ")},
	{"tcmalloc", []string{"tc_malloc"}, []byte("gperftools ")},
	{"mimalloc", []string{"mi_malloc"}, []byte("mimalloc: warning")},
	{"AddressSanitizer", []string{"__asan_init"}, nil},
	{"LeakSanitizer", []string{"__lsan_init"}, nil},
	{"HWAddressSanitizer", []string{"__hwasan_init"}, nil},
	{"scudo", []string{"scudo_malloc_info"}, nil},
	{"rpmalloc", []string{"rpmalloc"}, nil},
	{"snmalloc", []string{"snmalloc_malloc"}, nil},
	{muslName, []string{"__libc_malloc_impl", "__malloc0"}, mallocngSizes()}, // it has __libc_malloc, too
}

const muslName = "musl"

// mallocngSizes is the constant size_classes of musl's mallocng (src/malloc/mallocng/malloc.c), in units of 16 bytes.
func mallocngSizes() (b []byte) {
	for _, n := range []uint16{
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255,
		292, 340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
	} {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return b
}

// jemallocVersion is how jemalloc has its version, with the commit that it was built of.
var jemallocVersion = lazyregexp.New(`[0-9]+\.[0-9]+\.[0-9]+-[0-9]+-g[0-9a-f]+`)

// An allocatorText is what the constants of a file tell, which are read once.
type allocatorText struct {
	name    string // of an allocator, "" none
	version string // of jemalloc, "" unknown
}

// allocatorTextOf reads the constants of a file.
func allocatorTextOf(o *symbols.Object) (t allocatorText) {
	data, _, ok := o.File.Section(".rodata")
	if !ok {
		return t
	}
	for _, m := range allocatorMarks {
		if m.text != nil && bytes.Contains(data, m.text) {
			t.name = m.name
			break
		}
	}
	for _, v := range jemallocVersion().FindAll(data, -1) {
		if jemalloc.Known(string(v)) {
			t.version = string(v)
			return t
		}
	}
	if t.name == "jemalloc" { // else it may be the version of something else
		t.version = string(jemallocVersion().Find(data))
	}
	return t
}

// text is allocatorTextOf, kept.
func (h *Heap) text(o *symbols.Object) allocatorText {
	t, ok := h.texts[o]
	if !ok {
		t = allocatorTextOf(o)
		if h.texts == nil {
			h.texts = map[*symbols.Object]allocatorText{}
		}
		h.texts[o] = t
	}
	return t
}

// foundAllocators are the allocators of a program.
type foundAllocators struct {
	libcs   []string // paths of the modules that have glibc's malloc, the program's first
	libc    addr.Run // where the program's is, 0 not known
	guessed bool     // that is a program without symbols that may have it
	other   string   // name of one that is before it, "" none
	version string   // of other, "" not known
}

// allocator finds the modules that have glibc's malloc, and an allocator that is before it.
func (h *Heap) allocator() (f foundAllocators) {
	images := h.target.Names.Images()
	var libcs []names.Image
	for _, m := range images {
		if f.other == "" {
			f.other, f.version = h.otherAllocator(m)
		}
		if m.Object.Defines("gnu_get_libc_version") && m.Object.Defines("malloc") || m.Object.Defines("__libc_malloc") {
			libcs = append(libcs, m)
		}
	}
	if f.other == muslName {
		return f
	}
	if own, ok := h.programsLibc(images, libcs); ok {
		f.libcs, f.libc = []string{own.Name}, codeOf(own)
	}
	for _, m := range libcs {
		if !slices.Contains(f.libcs, m.Name) {
			f.libcs = append(f.libcs, m.Name)
		}
	}
	if len(f.libcs) > 0 || f.other != "" {
		return f
	}
	// Static, perhaps without symbols: constants tell, and what its data holds.
	mods := slices.DeleteFunc(slices.Clone(h.target.Image.Modules()), func(m inferior.Module) bool { return m.VDSO })
	if len(mods) != 1 {
		return f
	}
	for _, m := range images {
		if m.Name == mods[0].Name {
			if m.Object.File.Header().Go {
				continue // the program may have such a text without the allocator, as hdb has
			}
			t := h.text(m.Object)
			f.other, f.version = t.name, t.version
		}
	}
	if f.other != muslName {
		f.libcs, f.guessed = []string{mods[0].Name}, true
	}
	return f
}

// programsLibc is the module with the malloc which the program itself calls, one of those with glibc's: the first in the
// dynamic linker's list for the program's namespace, in the order of which it looks for symbols.
func (h *Heap) programsLibc(images, libcs []names.Image) (own names.Image, ok bool) {
	if len(libcs) == 0 {
		return own, false
	}
	t := target.TLS{Target: h.target}
	if debug := t.Debug(); debug != 0 {
		t.LinkMaps(debug, func(_ addr.Run, bias uint64) bool {
			i := slices.IndexFunc(libcs, func(m names.Image) bool { return uint64(m.Bias) == bias })
			if ok = i >= 0; ok {
				own = libcs[i]
			}
			return !ok
		})
	}
	if !ok && images[0].Object.File.Header().Interp == "" {
		return images[0], true // static, without symbols: it has used dlopen(3)
	}
	return own, ok
}

// codeOf is where the code of a module begins, 0 if it has none.
func codeOf(m names.Image) addr.Run {
	for _, s := range m.Object.File.Segments() {
		if s.Exec {
			return s.Addr.Run(m.Bias)
		}
	}
	return 0
}

// otherAllocator is the allocator other than glibc's that a module is known to have by its name or its functions, and its version.
func (h *Heap) otherAllocator(m names.Image) (name, version string) {
	base := filepath.Base(m.Name)
	if breakpoints.IsAllocatorLibrary(base) {
		name, _, _ = strings.Cut(strings.TrimPrefix(base, "lib"), ".")
	}
	for _, a := range allocatorMarks {
		if name == "" && slices.ContainsFunc(a.functions, func(fn string) bool { return m.Object.Defines(fn) }) {
			name = a.name
		}
	}
	if name == "" && modkind.IsMusl(base) {
		name = muslName
	}
	if strings.HasPrefix(name, "jemalloc") {
		version = h.text(m.Object).version
	}
	return name, version
}
