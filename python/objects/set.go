package objects

import "hdb/internal/addr"

// A set is addresses of objects, none of which is 0, each with a number.
type set struct {
	keys   []addr.Run
	values []uint32 // nil: they have no numbers
	n      int
}

func newSet(numbers bool) *set {
	s := &set{}
	s.grow(1<<12, numbers)
	return s
}

func (s *set) grow(size int, numbers bool) {
	old := *s
	s.keys = make([]addr.Run, size)
	if numbers {
		s.values = make([]uint32, size)
	}
	for i, k := range old.keys {
		if k == 0 {
			continue
		}
		j := s.place(k)
		s.keys[j] = k
		if numbers {
			s.values[j] = old.values[i]
		}
	}
}

// place is where an address is, or would be.
func (s *set) place(at addr.Run) int {
	mask := uint64(len(s.keys) - 1)
	i := uint64(at>>3) * 0x9e3779b97f4a7c15 >> 20 & mask
	for s.keys[i] != 0 && s.keys[i] != at {
		i = (i + 1) & mask
	}
	return int(i)
}

func (s *set) has(at addr.Run) bool { return s.keys[s.place(at)] == at }

// get is the number of an address.
func (s *set) get(at addr.Run) (uint32, bool) {
	i := s.place(at)
	return s.values[i], s.keys[i] == at
}

// add adds an address and reports whether it was not there.
func (s *set) add(at addr.Run, value uint32) bool {
	i := s.place(at)
	if s.keys[i] == at {
		return false
	}
	s.keys[i] = at
	if s.values != nil {
		s.values[i] = value
	}
	if s.n++; s.n*5 > len(s.keys)*3 {
		s.grow(2*len(s.keys), s.values != nil)
	}
	return true
}
