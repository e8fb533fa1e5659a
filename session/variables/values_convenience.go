package variables

import (
	"hdb/internal/addr"
	"hdb/values"
)

// conveniences are the words of the debugger that `show convenience` lists.
var conveniences = [...]string{"_", "__", "_exception", "_exitcode", "_exitsignal", "_pid", "_siginfo", "_thread", "bpnum"}

// Examined sets $_ to an address that was shown and $__ to the bytes there, in units of
// that size.
func (v *Values) Examined(at addr.Run, size int, b []byte) { v.World.Examined(at, size, b) }

// Conveniences lists the convenience variables, those that the user has set first.
func (s *Scopes) Conveniences(o values.Options) []NamedValue {
	var out []NamedValue
	for _, x := range s.values.World.Conveniences(conveniences[:]) {
		out = append(out, NamedValue{x.Name, x.Value.Type.String(), s.values.World.FormatTop(nil, x.Value, o)})
	}
	return out
}

// ConvenienceNames are the names of the convenience variables, without $.
func (s *Scopes) ConvenienceNames() []string {
	var names []string
	for _, x := range s.values.World.Conveniences(conveniences[:]) {
		names = append(names, x.Name)
	}
	return names
}
