package names

import (
	"slices"
	"strings"
	"sync"

	"hdb/python/cython"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// Cython finds the functions and lines of the source in what Cython has made of it: by the
// C file where it is at hand, by what `cython --gdb` has written, by lines of the source in
// debug information, or by names alone. Any goroutine may use it.
type Cython struct {
	r *Resolver

	mu    sync.Mutex
	files map[*symbols.Object]*cythonFile
}

// reads reports whether functions of Cython are wanted.
func (y *Cython) reads() bool { return y.r.cfg.Settings.Python != PythonNative }

// Forget has files be looked for again, and what was made of them.
func (y *Cython) Forget() {
	y.r.cfg.Change(func() {
		y.mu.Lock()
		y.files = nil
		y.mu.Unlock()
		y.r.Modules.mu.Lock()
		clear(y.r.Modules.names)
		y.r.Modules.mu.Unlock()
		clear(y.r.Log.names)
		if o := y.r.opened; o != nil {
			clear(o.names)
		}
	})
}

// frames has those that Cython has made be of its source. It changes none of what it is given.
func (y *Cython) frames(obj *symbols.Object, frames []symbols.Frame) []symbols.Frame {
	n := slices.IndexFunc(frames, func(f symbols.Frame) bool { return cython.IsGenerated(LinkageOf(&f)) })
	if n < 0 || !y.reads() {
		return frames
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	file := y.file(obj)
	frames = slices.Clone(frames)
	for i := range frames[n:] {
		file.name(&frames[n+i])
	}
	return frames
}

// LinkageOf is the name of a frame's function as the linker knows it.
func LinkageOf(f *symbols.Frame) string {
	if f.Linkage != "" {
		return f.Linkage
	}
	return f.Function
}

// file is what is known of a file.
func (y *Cython) file(obj *symbols.Object) *cythonFile {
	f := y.files[obj]
	if f == nil {
		f = newCythonFile(y.r, obj)
		if y.files == nil {
			y.files = map[*symbols.Object]*cythonFile{}
		}
		y.files[obj] = f
	}
	return f
}

// name has a frame be of the source.
func (f *cythonFile) name(fr *symbols.Frame) {
	linkage := LinkageOf(fr)
	s, ok := cython.Parse(linkage, f.modules...)
	if !ok || s.Kind == cython.Machinery {
		return
	}
	fr.Linkage, fr.Function = linkage, f.qualified(s, linkage)
	if line, ok := f.line(linkage, fr.File, fr.Line); ok {
		fr.File, fr.Line, fr.Column, fr.Discriminator, fr.Language = line.File, line.Line, 0, 0, dwarf.LangCython
	}
}

// qualified is the name of a function of C in the source, with a question mark if it is a guess.
func (f *cythonFile) qualified(s cython.Symbol, linkage string) string {
	if fn := f.functions[linkage]; fn != nil {
		if name, ok := cython.Plain(fn.Qualified); ok {
			return name
		}
	}
	fn, ok := f.codeOf(linkage)
	switch {
	case !s.Guess || !ok:
	case s.Kind == cython.Generator:
		if name, ok := f.definedAt(linkage, fn); ok {
			return name
		}
	default:
		if src := f.source(linkage, fn); src != nil {
			if name, ok := cython.Plain(src.Names[linkage]); ok && strings.Contains(name, ".") {
				return name
			}
		}
	}
	return marked(s)
}

// definedAt is the function that the body of a generator is of: one with the same def.
func (f *cythonFile) definedAt(linkage string, fn symbols.Function) (found string, ok bool) {
	at, ok := f.line(linkage, fn.DeclFile, fn.DeclLine)
	if !ok {
		return "", false
	}
	for name, code := range f.code {
		s, _ := cython.Parse(name, f.modules...)
		if s.Kind != cython.Body && s.Kind != cython.Wrapper {
			continue
		}
		if l, ok := f.line(name, code.DeclFile, code.DeclLine); !ok || l.Line != at.Line || l.File != at.File {
			continue
		}
		if found != "" && found != marked(s) {
			return "", false
		}
		found = marked(s)
	}
	return found, found != ""
}

// marked is the name that a symbol tells, with a question mark if it is a guess.
func marked(s cython.Symbol) string {
	if s.Guess {
		return s.Name + "?"
	}
	return s.Name
}

// AddedByCython tells a function that is none of a source of Cython: one that Cython has
// added, or that only takes the arguments for one.
func AddedByCython(f *symbols.Frame) bool {
	s, ok := cython.Parse(LinkageOf(f))
	return ok && (s.Kind == cython.Machinery || s.Kind == cython.Wrapper)
}

// Added is AddedByCython while functions of its sources are wanted.
func (y *Cython) Added(f *symbols.Frame) bool { return y.reads() && AddedByCython(f) }

// TakesArguments tells a function that takes the arguments for one of a source of Cython.
func TakesArguments(f *symbols.Frame) bool {
	s, ok := cython.Parse(LinkageOf(f))
	return ok && s.Kind == cython.Wrapper
}
