package memory

import (
	"hdb/heap/graph"
	"hdb/internal/addr"
)

// loaderAlign is the alignment of ld.so's tables of loaded objects (glibc's elf/dl-find_object.c, from 2.35 on). It points to the first
// aligned address in a block; the second word there (struct dlfo_mappings_segment, to_free) is the block's start.
const loaderAlign = 128

// inner is graph.Options.Inner: pointers of the dynamic linker, and of runtimes.
func (m *Image) inner() func(word, pointer uint64, b graph.Block) bool {
	var runtime func(word, pointer uint64, b graph.Block) bool
	if m.src.Inner != nil {
		runtime = m.src.Inner(m.src.Memory)
	}
	return func(word, pointer uint64, b graph.Block) bool {
		if runtime != nil && runtime(word, pointer, b) {
			return true
		}
		if pointer%loaderAlign != 0 || pointer-b.Addr >= loaderAlign {
			return false
		}
		w, err := m.words(addr.Run(pointer), 2)
		return err == nil && w != nil && w[1] == b.Addr
	}
}
