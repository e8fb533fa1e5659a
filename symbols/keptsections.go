package symbols

import (
	"hdb/internal/diskcache"
	"hdb/symbols/elf"
)

// sectionKind is the kind of kept sections of debug files.
const sectionKind = "dwarf1"

// leastKept is the size, in bytes as compressed, from which on a section is kept decompressed on
// disk: smaller ones take little to decompress.
const leastKept = 256 << 10

// keptSection is a section of a file, decompressed: from the cache, where it is put if it is
// compressed and takes at least this number of bytes in the file.
func keptSection(cache *diskcache.Dir, f *elf.File, name string, least uint64) ([]byte, error) {
	if cache == nil || f.ID == "" || f.PackedSize(name) < max(least, 1) {
		return f.Section(name)
	}
	key := f.Path + "\n" + f.ID + "\n" + name
	if b := cache.Get(sectionKind, key); b != nil {
		return b, nil
	}
	b, err := f.Section(name)
	if err == nil {
		cache.Put(sectionKind, key, b)
	}
	return b, err
}
