package session

import (
	"hdb/internal/addr"
	"hdb/report"
)

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
		segments, ok := s.names.CodeSegments(i, addr.Run(m.Low), addr.Run(m.High), addr.Bias(m.Bias))
		if !ok {
			continue
		}
		m.Code = nil
		for _, seg := range segments {
			m.Code = append(m.Code, report.Segment{Low: uint64(seg.Low), High: uint64(seg.High), Offset: seg.Offset})
		}
	}
}
