package inspect

import (
	"io"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Reader reads the objects of an interpreter.
type Reader struct {
	memory
	layout     *layout.Layout
	singletons []singleton
	generators Generators
}

// A singleton is an object with a name.
type singleton struct {
	at   addr.Run
	text string
}

// New is for the objects in memory of an interpreter that exports symbols.
func New(mem io.ReaderAt, l *layout.Layout, symbols func(name string) (addr.Run, bool), generators Generators) *Reader {
	r := &Reader{memory: memory{ReaderAt: mem}, layout: l, generators: generators}
	for _, s := range [][2]string{{"_Py_NoneStruct", "None"}, {"_Py_TrueStruct", "True"}, {"_Py_FalseStruct", "False"}, {"_Py_EllipsisObject", "..."}, {"_Py_NotImplementedStruct", "NotImplemented"}} {
		if at, ok := symbols(s[0]); ok {
			r.singletons = append(r.singletons, singleton{at, s[1]})
		}
	}
	return r
}

// Of returns the reader of the same objects in other memory.
func (r *Reader) Of(mem io.ReaderAt) *Reader {
	b := *r
	b.ReaderAt = mem
	return &b
}

// Singleton is the name of None, True, False and the like, "" of other objects.
func (r *Reader) Singleton(at addr.Run) string {
	for _, s := range r.singletons {
		if s.at == at {
			return s.text
		}
	}
	return ""
}

// Bounded is a reader of that number of bytes, which what memory says cannot draw out.
func (r *Reader) Bounded(left int) *Reader {
	b := *r
	b.left = &left
	return &b
}

// IsBounded reports whether the reader reads only a number of bytes.
func (r *Reader) IsBounded() bool { return r.left != nil }

// Count is how many elements an object says that it has.
func (r *Reader) Count(at addr.Run) (uint64, error) {
	return r.Word(at + addr.Run(r.layout.Object.Count))
}
