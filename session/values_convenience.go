package session

import (
	"hdb/internal/addr"
	"hdb/values"
)

// conveniences are the words of the debugger that `show convenience` lists.
var conveniences = [...]string{"_", "__", "_exitcode", "_exitsignal", "_siginfo", "_thread"}

// debuggerWord is a number of the debugger: of the selected thread, of the last end of the
// program, or of the event that is stopped at.
func (v *Values) debuggerWord(name string) (values.Word, bool) {
	switch name {
	case "_thread":
		n := 0
		if v.sel.thread != nil && v.mode() == Live {
			n = v.sel.thread.Num
		}
		return values.Word{N: uint64(n), Int: true}, true
	case "_exitcode":
		if v.exit == nil || v.exit.Signal != 0 {
			return values.Word{}, false
		}
		return values.Word{N: uint64(v.exit.Code), Int: true}, true
	case "_exitsignal":
		if v.exit == nil || v.exit.Signal == 0 {
			return values.Word{}, false
		}
		return values.Word{N: uint64(v.exit.Signal), Int: true}, true
	}
	return v.stopWord(name)
}

// signalInfo is the siginfo_t of the signal that the selected thread stopped at.
func (v *Values) signalInfo() []byte {
	if v.mode() != Live || v.sel.thread == nil {
		return nil
	}
	return v.sel.thread.SignalInfo()
}

// Examined sets $_ to an address that was shown and $__ to the bytes there, in units of
// that size.
func (v *Values) Examined(at addr.Run, size int, b []byte) { v.w.Examined(at, size, b) }

// Conveniences lists the convenience variables, those that the user has set first.
func (v *Values) Conveniences(o values.Options) []NamedValue {
	var out []NamedValue
	for _, x := range v.w.Conveniences(conveniences[:]) {
		out = append(out, NamedValue{x.Name, x.Value.Type.String(), v.w.FormatTop(nil, x.Value, o)})
	}
	return out
}

// ConvenienceNames are the names of the convenience variables, without $.
func (v *Values) ConvenienceNames() []string {
	var names []string
	for _, x := range v.w.Conveniences(conveniences[:]) {
		names = append(names, x.Name)
	}
	return names
}
