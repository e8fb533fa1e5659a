package capture

// An addrSet is a set of addresses other than 0, in 16 bytes for each or less. Its
// zero value is empty.
type addrSet struct {
	slots []uint64 // an open hash table with linear probing; 0 is empty
	len   int
}

// home is where a is looked for first.
func (s *addrSet) home(a uint64) int { return int(hashAddr(a) >> 1 & uint64(len(s.slots)-1)) }

// slot is where a is, or the empty slot where it belongs.
func (s *addrSet) slot(a uint64) int {
	i := s.home(a)
	for s.slots[i] != 0 && s.slots[i] != a {
		i = (i + 1) & (len(s.slots) - 1)
	}
	return i
}

func (s *addrSet) add(a uint64) {
	if 4*(s.len+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(2*len(old), 1024))
		for _, b := range old {
			if b != 0 {
				s.slots[s.slot(b)] = b
			}
		}
	}
	if i := s.slot(a); s.slots[i] == 0 {
		s.slots[i] = a
		s.len++
	}
}

// remove takes a out and tells whether it was in.
func (s *addrSet) remove(a uint64) bool {
	if s.len == 0 || a == 0 {
		return false
	}
	hole := s.slot(a)
	if s.slots[hole] == 0 {
		return false
	}
	s.len--
	// What stands behind the hole moves into it, if it may stand there.
	mask := len(s.slots) - 1
	for i := (hole + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if (i-s.home(s.slots[i]))&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = 0
	return true
}

func (s *addrSet) clear() {
	clear(s.slots)
	s.len = 0
}
