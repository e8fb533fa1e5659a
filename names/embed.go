package names

import (
	"hdb/capture"
	"hdb/internal/addr"
)

// embedder gives a capture the names and sources of the resolver.
type embedder struct{ r *Resolver }

// Embedder is what a capture is written with, so that it keeps the names and source lines
// that are known now.
func (r *Resolver) Embedder() capture.Embedder { return embedder{r} }

// Resolve is the function chain of an address at event seq.
func (e embedder) Resolve(pc addr.Run, isReturn bool, seq uint64) []capture.Frame {
	c := addr.PC(pc)
	if isReturn {
		c = addr.Return(pc)
	}
	return e.r.Chain(c, seq)
}

// GoType is the type of an allocation by code at an address, at event seq.
func (e embedder) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	t, ok, _ := e.r.goType(code, seq, of)
	return t, ok
}

// SourceLine is the text of a source file.
func (e embedder) SourceLine(file string) ([]string, bool) {
	src, err := e.r.Source(file)
	if err != nil || !src.Whole() {
		return nil, false // what a capture kept stays as it is
	}
	return src.lines, true
}
