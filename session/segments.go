package session

import (
	"slices"

	"hdb/internal/addr"
	"hdb/report"
	"hdb/symbols"
)

// codePage is the size of pages on x86-64.
const codePage = 4096

// LocateCode notes in a profile where the code of its modules stands in their
// files: of modules that frames are in, and whose files are here.
func (s *Session) LocateCode(p *report.Profile) {
	used := make([]bool, len(p.Modules))
	for i := range p.Frames {
		if m := p.Frames[i].Module; m >= 0 {
			used[m] = true
		}
	}
	for i := range p.Modules {
		if !used[i] {
			continue
		}
		m := &p.Modules[i]
		obj := s.profileObject(i, m)
		if obj == nil {
			continue
		}
		m.Code = nil
		for _, seg := range obj.Segments() {
			if !seg.Exec || seg.Memsz == 0 {
				continue
			}
			// As the kernel maps it: whole pages.
			skip := uint64(seg.Addr) % codePage
			low := uint64(seg.Addr.Run(addr.Bias(m.Bias))) - skip
			size := (seg.Memsz + skip + codePage - 1) &^ (codePage - 1)
			m.Code = append(m.Code, report.Segment{Low: low, High: low + size, Offset: seg.Off - min(skip, seg.Off)})
		}
	}
}

// profileObject is the file of module i of a profile, nil if it is not here.
func (s *Session) profileObject(i int, m *report.Module) *symbols.Object {
	if s.saved != nil {
		return s.lateModule(i).obj
	}
	k := slices.IndexFunc(s.mods.list, func(mod *module) bool { return uint64(mod.Low) == m.Low && uint64(mod.High) == m.High })
	if k < 0 {
		return nil
	}
	return s.mods.object(s.mods.list[k])
}
