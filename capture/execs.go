package capture

import "slices"

// Execs finds where the whole image was replaced: the numbers of the first events
// of new images, ascending. At such a number modules end and none from before it
// stays; dlclose leaves the program itself mapped, and so does a change to a held
// process.
func Execs(modules []Module) []uint64 {
	var ends []uint64
	for _, m := range modules {
		stays := func(o Module) bool { return o.From < m.To && (o.To == 0 || o.To > m.To) }
		if m.To != 0 && !slices.Contains(ends, m.To) && !slices.ContainsFunc(modules, stays) {
			ends = append(ends, m.To)
		}
	}
	slices.Sort(ends)
	return ends
}
