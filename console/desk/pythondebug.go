package desk

import (
	"fmt"
	"strings"

	"hdb/internal/units"
	"hdb/python/pymalloc"
	"hdb/session/cpython"
)

type pythonDamageView struct {
	Kind   string `json:"kind"`   // overrun, underrun, header, use after free
	Offset int    `json:"offset"` // of overrun from the end of the block, else from its beginning
	Bytes  string `json:"bytes"`
}

// PythonDebugView is a block of CPython's debug hooks for JSON.
type PythonDebugView struct {
	Address string             `json:"address"`
	Size    *uint64            `json:"size,omitempty"` // that was asked for
	Domain  string             `json:"domain,omitempty"`
	Freed   bool               `json:"freed,omitempty"`
	Serial  uint64             `json:"serial,omitempty"`
	Damages []pythonDamageView `json:"damaged,omitempty"`
	Event   *EventView         `json:"event,omitempty"`
	Frames  []FrameView        `json:"frames,omitempty"`
}

var damageWords = map[pymalloc.DamageKind]string{pymalloc.Overrun: "overrun", pymalloc.Underrun: "underrun", pymalloc.LostHeader: "header", pymalloc.WrittenFreed: "use after free"}

// domainWords are the domains by the letters of the debug hooks, and the functions that
// allocate of them.
var domainWords = map[byte][2]string{'r': {"raw", "PyMem_RawMalloc"}, 'm': {"mem", "PyMem_Malloc"}, 'o': {"obj", "PyObject_Malloc"}}

// ViewPythonDebug is a block of CPython's debug hooks for JSON.
func ViewPythonDebug(x pymalloc.DebugBlock) PythonDebugView {
	v := PythonDebugView{Address: fmt.Sprintf("%#x", uint64(x.At)), Freed: x.Freed, Serial: x.Serial}
	if !x.Freed && !x.Moving && !HeaderLost(x) {
		v.Size, v.Domain = &x.Size, domainWords[x.API][0]
	}
	for _, d := range x.Damages {
		v.Damages = append(v.Damages, pythonDamageView{damageWords[d.Kind], d.Offset, fmt.Sprintf("% x", d.Bytes)})
	}
	return v
}

// HeaderLost reports whether the header of a block was overwritten.
func HeaderLost(x pymalloc.DebugBlock) bool {
	return len(x.Damages) > 0 && x.Damages[0].Kind == pymalloc.LostHeader
}

// AskedText says what a block was asked for.
func AskedText(x pymalloc.DebugBlock) string {
	switch {
	case x.Freed:
		return "given back"
	case x.Moving:
		return "just being allocated or freed"
	case HeaderLost(x):
		return "its size and domain were written over"
	}
	return fmt.Sprintf("%s of domain %s (%s)", units.Count(x.Size, "byte"), domainWords[x.API][0], domainWords[x.API][1])
}

// DamageText says what is wrong with a block.
func DamageText(d pymalloc.Damage) string {
	n, bytes := len(d.Bytes), shortBytes(d.Bytes)
	written := units.CountVerb(n, "byte", "was", "were") + " written"
	switch d.Kind {
	case pymalloc.Overrun:
		where := "behind its end"
		if d.Offset > 0 {
			where = fmt.Sprintf("%s behind its end", units.Count(d.Offset, "byte"))
		}
		return fmt.Sprintf("%s %s: %s", written, where, bytes)
	case pymalloc.Underrun:
		return fmt.Sprintf("%s before its beginning, from %d on: %s", written, d.Offset, bytes)
	case pymalloc.LostHeader:
		return fmt.Sprintf("the %d bytes before its beginning cannot be right: %s", n, bytes)
	}
	if d.Offset < 0 {
		return fmt.Sprintf("%s after it was freed, from %s before its beginning: %s", written, units.Count(-d.Offset, "byte"), bytes)
	}
	return fmt.Sprintf("%s after it was freed, from its byte %d on: %s", written, d.Offset, bytes)
}

// shortBytes are bytes in hexadecimal, the first of many.
func shortBytes(b []byte) string {
	const most = 16
	if len(b) > most {
		return fmt.Sprintf("% x ...", b[:most])
	}
	return fmt.Sprintf("% x", b)
}

func blamedText(x *cpython.Damage) string {
	parts := []string{}
	for _, d := range x.Damages {
		parts = append(parts, DamageText(d))
	}
	return fmt.Sprintf("the debug hooks of CPython found %#x damaged, %s: %s; see `py block %#x`", uint64(x.At), AskedText(x.DebugBlock), strings.Join(parts, "; "), uint64(x.At))
}
