package variables

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"hdb/inferior/delve"
	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/values"
	"hdb/values/gotext"
)

// Limits of what is read of a Go value: in a list of variables pointers are not
// followed.
const (
	goListDepth  = 1
	goPrintDepth = 3
	goElements   = 200 // where print elements sets no limit
)

// errGoMade is the error of values where there is no frame.
var errGoMade = errors.New("this frame is the go statement that started the goroutine: its function is not on this stack")

// goFrame is the selected frame in the terms of delve, which reads the values of Go;
// nil where the frame is not Go's: code of C in a program with cgo.
func (v *Values) goFrame() (*delve.Program, delve.Place, error) {
	var at delve.Place
	if v.Target.Recalled() || v.Target.Image == nil || !v.Target.Image.IsGo() {
		return nil, at, nil
	}
	if err := v.Target.Readable(); err != nil {
		return nil, at, err
	}
	st, err := v.sel.Stack(0)
	if err != nil || len(st.Frames) == 0 {
		return nil, at, err
	}
	i := min(v.sel.Cur.Num, len(st.Frames)-1)
	fr := st.Frames[i]
	if fr.Language != 0 && fr.Language != dwarf.LangGo {
		return nil, at, nil
	}
	if fr.Made {
		return nil, at, errGoMade
	}
	g, err := v.Target.Delve()
	if err != nil {
		return nil, at, err
	}
	first := i
	for first > 0 && st.Frames[first-1].Inlined && st.Frames[first-1].Code == fr.Code && st.Frames[first-1].CFA == fr.CFA {
		first--
	}
	return g, delve.Place{Thread: v.sel.Cur.Thread, Parked: v.sel.Parked(st), CFA: fr.CFA, PC: fr.Code.Addr(), Inlined: i - first + fr.Ahead, Index: i + st.Frames[0].Ahead}, nil
}

// AsGo lets answer tell what an expression of Go is in a frame of Go. It reports false, and answer
// is not called, where the expression is none of Go.
func (v *Values) AsGo(expr string, answer func(g *delve.Program, at delve.Place) error) (bool, error) {
	if strings.HasPrefix(strings.TrimSpace(expr), "$") { // a register, or what the user has named
		return false, nil
	}
	g, at, err := v.goFrame()
	if g != nil && err == nil {
		err = answer(g, at)
	}
	return g != nil || err != nil, err
}

// GoLimits are options of values in delve's form.
func GoLimits(o values.Options, follow bool) delve.Limits {
	l := delve.Limits{Elements: o.Elements, Depth: goListDepth, Follow: follow}
	if follow {
		l.Depth = goPrintDepth
	}
	if l.Elements <= 0 {
		l.Elements = 10 * goElements
	}
	return l
}

// goVariables lists a frame's variables, the nearest first.
func goVariables(vars []delve.Value, o values.Options, scalars bool) []NamedValue {
	var out []NamedValue
	for _, x := range vars {
		text := elided
		if !scalars || goScalar(x.Kind) {
			text = gotext.Format(x, o)
		}
		out = append(out, NamedValue{x.Name, x.Type, text})
	}
	return out
}

// goScalar tells kinds without members and elements; a string is one.
func goScalar(k reflect.Kind) bool {
	switch k {
	case reflect.Array, reflect.Slice, reflect.Struct, reflect.Map, reflect.Interface, reflect.Chan:
		return false
	}
	return true
}

// goAddress is what a Go expression says as an address: where a pointer points or the
// elements of a slice are; else where the value itself is.
func goAddress(g *delve.Program, at delve.Place, expr string) (addr.Run, error) {
	v, err := g.Eval(at, expr, delve.Limits{})
	if err != nil {
		return 0, err
	}
	switch v.Kind {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Uintptr, reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return addr.Run(v.Bits), nil
	case reflect.Slice, reflect.String, reflect.Map, reflect.Chan, reflect.Func:
		return addr.Run(v.Base), nil
	}
	if v.Addr == 0 {
		return 0, fmt.Errorf("%s: the value is not in memory", expr)
	}
	return addr.Run(v.Addr), nil
}

// GoAssignment splits TO = FROM.
func GoAssignment(expr string) (to, from string, ok bool) {
	quote, escaped := rune(0), false
	for i, r := range expr {
		switch {
		case quote != 0:
			if r == quote && !escaped {
				quote = 0
			}
			escaped = r == '\\' && !escaped && quote != '`'
		case r == '"' || r == '\'' || r == '`':
			quote = r
		case r == '=':
			if strings.HasPrefix(expr[i+1:], "=") || i > 0 && strings.IndexByte("=!<>:", expr[i-1]) >= 0 {
				continue
			}
			return strings.TrimSpace(expr[:i]), strings.TrimSpace(expr[i+1:]), true
		}
	}
	return "", "", false
}

// goPrint is the text of a Go expression.
func goPrint(g *delve.Program, at delve.Place, expr string, o values.Options) (string, error) {
	if _, _, ok := GoAssignment(expr); ok {
		return "", errors.New("= changes the program: use set var, or == to compare")
	}
	x, err := g.Eval(at, expr, GoLimits(o, o.Letter == 0))
	if err != nil {
		return "", err
	}
	return gotext.Format(x, o), nil
}

// goHolds reports whether a Go expression is true, or a number or pointer other than zero.
func goHolds(g *delve.Program, at delve.Place, expr string) (bool, error) {
	if _, _, ok := GoAssignment(expr); ok {
		return false, errors.New("= changes the program: write == to compare")
	}
	x, err := g.Eval(at, expr, delve.Limits{})
	switch {
	case err != nil:
		return false, err
	case x.Err != "":
		return false, errors.New(x.Err)
	case x.Kind == reflect.Bool:
		return x.Text == "true", nil
	case x.Kind >= reflect.Int && x.Kind <= reflect.Uintptr, x.Kind == reflect.Pointer:
		return x.Bits != 0, nil
	}
	return false, fmt.Errorf("%s is a %s: a condition is a comparison", expr, x.Type)
}

// goSet changes a variable of Go.
func (v *Values) goSet(g *delve.Program, at delve.Place, expr string) error {
	to, from, ok := GoAssignment(expr)
	if !ok {
		_, err := g.Eval(at, expr, delve.Limits{})
		return err
	}
	defer v.changed()
	return g.Set(at, to, from)
}
