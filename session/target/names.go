package target

import (
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/unwind"
)

// injected is the probe's code, while there is any.
type injected struct{ target *Target }

// ModuleAt is the CFI of the probe's code.
func (i injected) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	if i.target.Probe == nil {
		return nil, 0, false
	}
	return i.target.Probe.ModuleAt(pc)
}

// Covers tells the probe's code.
func (i injected) Covers(pc addr.Run) bool { return i.target.Probe != nil && i.target.Probe.Covers(pc) }

// Mappings are the modules as names wants them; nil of nil.
func Mappings(modules []inferior.Module) []names.Mapping {
	var out []names.Mapping
	for _, m := range modules {
		out = append(out, names.Mapping(m))
	}
	return out
}
