package desk

import (
	"strings"

	"hdb/console/screen"
	"hdb/names"
	"hdb/query"
	"hdb/session/cpython"
	"hdb/session/variables"
	"hdb/values"
)

// FrameArgs are the parameters of frames with their values, by the number of the frame.
// A frame whose parameters are not known is not among them.
type FrameArgs map[int][]variables.NamedValue

// maxArgumentText bounds the elements of a text in the list of a frame's arguments.
const maxArgumentText = 64

// ArgumentsOf reads the parameters of frames of the selected stack as the setting print
// frame-arguments wants them. A capture has no values.
func ArgumentsOf(c *Desk, frames []names.Frame) FrameArgs {
	how := c.Set.Value("print frame-arguments")
	if how == "none" || !c.Session.Mode().Readable() {
		return nil
	}
	o, err := c.ArgumentOptions()
	if err != nil {
		return nil
	}
	return ofFrames(c, frames, func(num int) ([]variables.NamedValue, error) {
		list, err := c.Session.Values.FrameArgs(num, o, how != "all")
		if how == "presence" && len(list) > 0 {
			list = []variables.NamedValue{{Value: "..."}}
		}
		return list, err
	})
}

// ArgumentOptions is how arguments are written: on one line.
func (c *Desk) ArgumentOptions() (values.Options, error) {
	o, err := c.Eval.Options("")
	if o.Pretty, o.Width = false, 0; o.Elements == 0 || o.Elements > maxArgumentText {
		o.Elements = maxArgumentText
	}
	return o, err
}

// LocalsOf reads the variables of frames of the selected stack.
func LocalsOf(c *Desk, frames []names.Frame) FrameArgs {
	o, err := c.Eval.Options("")
	if err != nil || !c.Session.Mode().Readable() {
		return nil
	}
	return ofFrames(c, frames, func(num int) ([]variables.NamedValue, error) { return c.Session.Values.FrameLocals(num, o) })
}

// ofFrames reads something of each frame that has debug information, until Ctrl-C.
func ofFrames(c *Desk, frames []names.Frame, read func(num int) ([]variables.NamedValue, error)) FrameArgs {
	all := FrameArgs{}
	for _, f := range frames {
		if f.Tail || f.Python() || c.Out.Stopped() {
			continue
		}
		if list, err := read(f.Num); err == nil {
			all[f.Num] = cpython.CythonVariables(f, list)
		}
	}
	return all
}

// calledName is frameName with a frame's arguments instead of its parameters' types.
func (a FrameArgs) calledName(o *screen.Output, f names.Frame) []screen.Span {
	if list, ok := a.list(f); ok {
		return markedName(f, o.Names.Short(query.WithoutParameters(o.Names.Function(f.Function, f.Linkage)))+list)
	}
	return FrameName(o, f)
}

// WholeName is calledName with all template arguments.
func (a FrameArgs) WholeName(o *screen.Output, f names.Frame) []screen.Span {
	if list, ok := a.list(f); ok {
		return markedName(f, query.WithoutParameters(o.Names.Function(f.Function, f.Linkage))+list)
	}
	return wholeName(o, f)
}

// list is the arguments of a frame in parentheses.
func (a FrameArgs) list(f names.Frame) (text string, ok bool) {
	args, ok := a[f.Num]
	if !ok || f.Tail || f.Python() {
		return "", false
	}
	var list []string
	for _, x := range args {
		if x.Name == "" {
			list = append(list, x.Value)
			continue
		}
		list = append(list, x.Name+"="+x.Value)
	}
	return "(" + strings.Join(list, ", ") + ")", true
}

// View is the arguments of a frame in JSON.
func (a FrameArgs) View(num int) []ValueView {
	var out []ValueView
	for _, x := range a[num] {
		out = append(out, ValueView{Name: x.Name, Type: x.Type, Value: x.Value})
	}
	return out
}
