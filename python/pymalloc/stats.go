package pymalloc

import "hdb/python/layout"

// Stats are the figures that sys._debugmallocstats() prints of a heap.
type Stats struct {
	Classes []ClassStats // of those with a pool in use
	Arenas  []ArenaStats

	UsedBytes, AvailableBytes uint64 // of blocks in use, and of the others in their pools
	FreePools                 int    // which belong to no class
	HeaderBytes               uint64 // of pools in use
	QuantizationBytes         uint64 // behind the last block of each pool in use
	AlignmentBytes            uint64 // of arenas whose address is not a multiple of the size of pools
	Damaged                   []error
}

// ClassStats are of one size class.
type ClassStats struct {
	Class, Size, Pools int
	Used, Available    int // blocks
}

// ArenaStats are of one arena.
type ArenaStats struct {
	Arena
	UsedPools, UsedBlocks int
	UsedBytes             uint64
}

// Stats reads the headers of all pools. Damaged pools count as what can be recognized of them.
func (h *Heap) Stats() Stats {
	var s Stats
	var classes [Classes]ClassStats
	for _, a := range h.Arenas {
		of := ArenaStats{Arena: a}
		s.AlignmentBytes += uint64(h.Lost(a))
		s.FreePools += a.FreePools
		h.Pools(a, func(p *Pool, err error) bool {
			if err != nil {
				if len(s.Damaged) < maxErrors {
					s.Damaged = append(s.Damaged, err)
				}
				return true
			}
			if p.Free() {
				return true
			}
			c := &classes[p.Class]
			c.Class, c.Size = p.Class, p.Size
			c.Pools++
			c.Used += p.Used
			c.Available += p.Blocks - p.Used
			of.UsedPools++
			of.UsedBlocks += p.Used
			of.UsedBytes += uint64(p.Used) * uint64(p.Size)
			return true
		})
		s.Arenas = append(s.Arenas, of)
	}
	for _, c := range classes {
		if c.Pools == 0 {
			continue
		}
		s.Classes = append(s.Classes, c)
		s.UsedBytes += uint64(c.Used) * uint64(c.Size)
		s.AvailableBytes += uint64(c.Available) * uint64(c.Size)
		s.HeaderBytes += uint64(c.Pools) * layout.PoolHeader
		s.QuantizationBytes += uint64(c.Pools) * uint64((h.PoolSize-layout.PoolHeader)%c.Size)
	}
	return s
}
