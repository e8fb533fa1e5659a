package names

import (
	"path/filepath"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
)

// Chain is the function of a code address as it was at event seq and the functions inlined
// there, innermost first: what the capture kept or its files say, or what the files of this
// run say.
func (r *Resolver) Chain(c addr.Code, seq uint64) []capture.Frame {
	if r.opened != nil {
		return r.opened.chain(c, seq)
	}
	return r.Log.chain(c, seq)
}

// captureFrames are the functions that code in a file represents, as captures keep them, innermost
// first. One without a name is its start.
func (r *Resolver) captureFrames(obj *symbols.Object, bias addr.Bias, c addr.Code) (frames []capture.Frame) {
	for _, f := range r.lookUp(obj, bias, c) {
		frames = append(frames, captureFrame(f, c, bias))
	}
	if len(frames) > 0 {
		return frames
	}
	if f, ok := nameless(obj, bias, c); ok {
		frames = append(frames, captureFrame(f, c, bias))
	}
	return frames
}

// captureFrame is a frame as captures keep it.
func captureFrame(f symbols.Frame, c addr.Code, bias addr.Bias) capture.Frame {
	low := f.Entry.Run(bias)
	cf := capture.Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		Inlined: f.Inlined, Source: f.Source.String(), Language: strings.ToLower(f.Language.String()), FuncLow: low,
	}
	if !f.Inlined {
		cf.Offset = uint64(c.Addr() - low)
	}
	return cf
}

// symbolsFrame is the reverse of captureFrame.
func symbolsFrame(f capture.Frame) symbols.Frame {
	return symbols.Frame{
		Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Column: f.Column,
		Inlined: f.Inlined, Source: provenance(f.Source), Language: language(f.Language),
		Entry: addr.File(f.FuncLow),
	}
}

// provenance is the reverse of its String.
func provenance(word string) symbols.Provenance {
	for p := symbols.FromNone; p <= symbols.FromPython; p++ {
		if p.String() == word {
			return p
		}
	}
	return symbols.FromNone
}

// language is a language of that family: what highlights its sources.
func language(family string) symbols.Language {
	if family == dwarf.LangCython.String() {
		return dwarf.LangCython
	}
	for l := symbols.Language(1); family != "" && l < 0x40; l++ { // DW_LANG codes, DWARF 5 section 7.12
		if l.String() == family {
			return l
		}
	}
	return 0
}

// knowledge orders chains by how much they tell: where the names come from, then
// whether there are lines, then the number of functions.
func knowledge(chain []capture.Frame) int {
	if len(chain) == 0 {
		return -1
	}
	most := min(len(chain), 1<<8-1)
	for _, f := range chain {
		if f.Line > 0 {
			most |= 1 << 8
		}
	}
	return most | int(provenance(chain[len(chain)-1].Source))<<9
}

// ModuleAt is the module of a recording that pc lay in at event seq, or otherwise one that
// it lay in at another moment.
func ModuleAt(src capture.Source, pc addr.Run, seq uint64) (capture.Module, bool) {
	mods := src.Modules()
	if i := moduleIndex(mods, pc, seq); i >= 0 {
		return mods[i], true
	}
	return capture.Module{}, false
}

// moduleIndex is the index of the module that pc lay in, -1 without.
func moduleIndex(mods []capture.Module, pc addr.Run, seq uint64) int {
	for i := range mods {
		if mods[i].Holds(pc, seq) {
			return i
		}
	}
	for i := range mods {
		if mods[i].Low <= pc && pc < mods[i].High {
			return i
		}
	}
	return -1
}

// ModuleName is a recorded module's name. The vDSO is the one module without a file; one
// that a damaged capture lost has no addresses either.
func ModuleName(m capture.Module) string {
	switch {
	case m.Path != "":
		return filepath.Base(m.Path)
	case m.High == 0:
		return "(lost)"
	}
	return vdsoName
}

const vdsoName = "[vdso]"
