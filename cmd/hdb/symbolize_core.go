package main

import (
	"hdb/inferior"
	"hdb/inferior/corefile"
)

// openCore has the addresses be those of the process of a core file.
func (s *symbolizer) openCore() error {
	core, err := corefile.Open(s.core)
	if err != nil {
		return err
	}
	core.FollowLinkMap(core.Program())
	s.dead, s.maps = core, inferior.CoreMaps(core)
	return nil
}

// mappedFile is the module of a mapping's file. For a core it has to be the file that was mapped.
func (s *symbolizer) mappedFile(key string, m *inferior.Mapping) int32 {
	if s.dead == nil {
		return s.module(key, m.Openable(s.pid))
	}
	if err := s.dead.Check(m.Path); err != nil {
		s.complain(err)
		return s.add(key, nil)
	}
	return s.module(key, s.dead.Found(m.Path))
}
