package variables

import (
	"fmt"
	"math"
	"reflect"

	"hdb/inferior/delve"
	"hdb/internal/cformat"
	"hdb/values"
)

// Printf is the text of a format with its arguments, computed in the selected frame.
func (v *Values) Printf(f *cformat.Format) (string, error) {
	return f.Expand(func(i int, kind cformat.Kind) (any, error) { return v.FormatArgument(f.Args[i], kind) })
}

// FormatArgument computes an argument of a format.
func (v *Values) FormatArgument(expr string, kind cformat.Kind) (x any, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		x, err = goArgument(g, at, expr, kind)
		return err
	}); ok {
		return x, err
	}
	err = v.Guarded(func(f *values.Frame) (err error) {
		switch kind {
		case cformat.Float:
			x, err = v.World.Float(f, expr)
		case cformat.Text:
			x, err = v.World.Text(f, expr)
		default:
			x, err = v.World.Integer(f, expr)
		}
		return err
	})
	return x, err
}

// goArgument computes an argument that is an expression of Go.
func goArgument(g *delve.Program, at delve.Place, expr string, kind cformat.Kind) (any, error) {
	x, err := g.Eval(at, expr, delve.Limits{Elements: 10 * goElements})
	if err != nil {
		return nil, err
	}
	number := x.Kind >= reflect.Int && x.Kind <= reflect.Uintptr || x.Kind == reflect.Pointer
	switch {
	case kind == cformat.Text && x.Kind == reflect.String:
		return []byte(x.Text), nil
	case kind == cformat.Float && x.Kind == reflect.Float64:
		return math.Float64frombits(x.Bits), nil
	case kind == cformat.Float && x.Kind == reflect.Float32:
		return float64(math.Float32frombits(uint32(x.Bits))), nil
	case kind == cformat.Float && number:
		return float64(int64(x.Bits)), nil
	case kind == cformat.Integer && number:
		return x.Bits, nil
	case kind == cformat.Integer && x.Kind == reflect.Bool:
		if x.Text == "true" {
			return uint64(1), nil
		}
		return uint64(0), nil
	}
	return nil, fmt.Errorf("%s is a %s, which the format does not accept", expr, x.Type)
}
