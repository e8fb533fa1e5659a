package values

// BlockOf is the innermost block of the frame that declares a variable which an expression
// names; the zero Block if there is none. Nothing is changed.
func (w *World) BlockOf(f *Frame, src string) Block {
	if f == nil {
		return Block{}
	}
	e := w.evaluator(f)
	e.tracked = true
	_, _ = e.compute(src) // names count where it has no value, too
	s, err := f.scope()
	if err != nil || e.used == 0 {
		return Block{}
	}
	b := s.Blocks[len(s.Blocks)-e.used]
	return Block{f.Module.Obj, b.Unit, b.Off}
}

// use notes that the expression names a variable of the frame.
func (e *evaluator) use(name string) {
	if !e.tracked {
		return
	}
	s, err := e.f.scope()
	if err != nil {
		return
	}
	entry := e.localEntry(name)
	for i, b := range s.Blocks {
		for d := range children(b) {
			if d.Unit == entry.Unit && d.Off == entry.Off {
				e.used = max(e.used, len(s.Blocks)-i)
			}
		}
	}
}
