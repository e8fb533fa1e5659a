package regions

// usage shares what a mapping uses among the regions that it was divided into. The sums are
// those of the mapping, which the kernel counted; the state of the pages says who has how
// much, and what that leaves open is a guess.
func (d *divider) usage(m *Mapping, list []Region) {
	if !m.Known {
		return
	}
	for i := range list {
		list[i].Known = true
	}
	if len(list) == 1 {
		list[0].Usage = m.Usage
		return
	}
	if m.Usage == (Usage{}) {
		return
	}
	err := error(nil)
	if d.src.Pages != nil {
		k := 0
		err = d.src.Pages(m.Start, m.End, func(p PageRun) { k = share(list, k, p) })
	}
	exact := d.src.Pages != nil && err == nil
	exact = level(list, m.Resident, func(r *Region) *uint64 { return &r.Resident }) && exact
	exact = level(list, m.Dirty, func(r *Region) *uint64 { return &r.Dirty }) && exact
	exact = level(list, m.Swap, func(r *Region) *uint64 { return &r.Swap }) && exact
	for i := range list {
		list[i].Guess = !exact
	}
}

// share gives the regions, from the k-th on, their bytes of a run. It returns where the next
// run may begin.
func share(list []Region, k int, p PageRun) int {
	for ; k < len(list); k++ {
		r := &list[k]
		if r.Start >= p.End {
			break
		}
		from, to := max(r.Start, p.Start), min(r.End, p.End)
		if from >= to {
			continue
		}
		n := uint64(to - from)
		switch {
		case !p.Resident:
			r.Swap += n
		case p.Changed:
			r.Resident, r.Dirty = r.Resident+n, r.Dirty+n
		default:
			r.Resident += n
		}
	}
	return max(k-1, 0)
}

// level makes the numbers of the regions add up to the mapping's: what is missing goes to where
// there is room, what is too much is taken from where there is most. It reports whether they did.
func level(list []Region, want uint64, field func(*Region) *uint64) bool {
	var sum uint64
	for i := range list {
		sum += *field(&list[i])
	}
	if sum == want {
		return true
	}
	if sum > want { // pages of zeros, or the process has run on
		var now uint64
		for i := range list {
			p := field(&list[i])
			*p = proportion(*p, want, sum)
			now += *p
		}
		sum = min(now, want)
	}
	left, room := want-sum, uint64(0)
	for i := range list {
		room += free(&list[i], field)
	}
	rest := left
	for i := range list {
		n := min(proportion(free(&list[i], field), min(left, room), room), rest)
		*field(&list[i]) += n
		rest -= n
	}
	for i := range list { // what rounding has left
		n := min(free(&list[i], field), rest)
		*field(&list[i]) += n
		rest -= n
	}
	*field(&list[0]) += rest // more than the mapping has room for: the kernel counts so
	return false
}

// free is how many bytes of a region the field does not have.
func free(r *Region, field func(*Region) *uint64) uint64 {
	return r.Size() - min(*field(r), r.Size())
}

// proportion is n*part/whole without overflow; part is at most whole.
func proportion(n, part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	return uint64(float64(n) * (float64(part) / float64(whole)))
}
