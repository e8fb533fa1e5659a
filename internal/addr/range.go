package addr

// A Range is memory from Start up to End, which is not in it.
type Range struct{ Start, End Run }

// To is the range from r up to an end.
func (r Run) To(end Run) Range { return Range{r, end} }

// Len is how many bytes it has.
func (r Range) Len() uint64 { return uint64(r.End - r.Start) }

// Contains reports whether the address is in it.
func (r Range) Contains(a Run) bool { return a >= r.Start && a < r.End }

// Within is the part of r that is in another range. It has no bytes, and may end before it starts, if there is none.
func (r Range) Within(o Range) Range { return Range{max(r.Start, o.Start), min(r.End, o.End)} }

// Empty reports whether it has no bytes.
func (r Range) Empty() bool { return r.Start >= r.End }
