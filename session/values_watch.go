package session

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hdb/inferior"
	"hdb/inferior/delve"
	"hdb/internal/addr"
	"hdb/session/stopped"
	"hdb/session/variables"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/gotext"
)

// A watchedValue is the expression of a watchpoint with its type.
type watchedValue struct {
	name  string
	value values.Value
	ofGo  *delve.Memory // in place of value
}

// watched finds the expression whose value is the size bytes at the address that are to be
// watched: expr, or expr without the * of *VARIABLE. It is nil if there is none with a type,
// as of *ADDRESS.
func watched(v *variables.Values, expr string, a addr.Run, size int) *watchedValue {
	expr = strings.TrimSpace(expr)
	if w := watchedGo(v, expr, a, size); w != nil {
		return w
	}
	if ok, _ := v.AsGo(expr, func(*delve.Program, delve.Place) error { return variables.ErrGoPlace }); ok {
		return nil
	}
	for _, name := range []string{expr, strings.TrimPrefix(expr, "*")} {
		var found *watchedValue
		err := v.Guarded(func(f *values.Frame) error {
			x, err := v.World.Eval(f, name)
			if err != nil {
				return err
			}
			if at, ok := x.Addr(); ok && at == a && x.Type.Size() == int64(size) {
				found = &watchedValue{name: name, value: x}
			}
			return nil
		})
		if err == nil && found != nil {
			return found
		}
	}
	return nil
}

// watchedGo is watched for a package variable of Go, in any frame. A leading & or * is dropped: the address decides whether the
// variable is meant.
func watchedGo(v *variables.Values, expr string, a addr.Run, size int) *watchedValue {
	if v.Target.Image == nil || !v.Target.Image.IsGo() {
		return nil
	}
	g, err := v.Target.Delve()
	if err != nil { // without DWARF
		return nil
	}
	name := strings.TrimLeft(expr, "&*")
	if m, err := g.PackageMemory(name); err == nil && m.Addr == a && m.Size == size {
		return &watchedValue{name: name, ofGo: m}
	}
	return nil
}

// neighbour tells that a bit field is watched and only others of its bytes have changed.
func neighbour(v *variables.Values, b *binding, c inferior.Change) bool {
	if b.typed == nil || b.typed.ofGo != nil || !b.typed.value.BitField() || b.access != inferior.Write {
		return false
	}
	w := stopped.WatchHit{Old: c.Old, New: c.New}
	watchTexts(v, b.typed, &w)
	return w.Name != "" && w.OldText == w.NewText
}

// watchTexts adds to a hit what its bytes are as values. A hit whose value cannot be read
// any more keeps the bytes.
func watchTexts(v *variables.Values, w *watchedValue, hit *stopped.WatchHit) {
	if hit.Old == nil || hit.New == nil {
		return
	}
	o := values.Options{Elements: stopped.MaxWatchedText}
	if w.ofGo != nil {
		goTexts(v, w, hit, o)
		return
	}
	var before, after string
	var parts []stopped.WatchedPart
	if symbols.Guard(func() {
		old, now := w.value.Holding(hit.Old), w.value.Holding(hit.New)
		before, after = v.World.Format(nil, old, o), v.World.Format(nil, now, o)
		for _, c := range values.Changes(w.name, old, now, stopped.MaxWatchedParts+1) {
			parts = append(parts, stopped.WatchedPart{Name: c.Name, Old: v.World.Format(nil, c.Old, o), New: v.World.Format(nil, c.New, o)})
		}
	}) == nil {
		hit.Name, hit.OldText, hit.NewText, hit.Parts = w.name, before, after, hit.Visible(w.name, parts)
	}
}

// goTexts is watchTexts of a variable of Go. Between the stores of a string or slice its value is invalid, and a change of
// a slice's capacity does not show in its text: then the changed bytes are reported under the variable's name.
func goTexts(v *variables.Values, w *watchedValue, hit *stopped.WatchHit, o values.Options) {
	g, err := v.Target.Delve() // of the process that runs now
	if err != nil {
		return
	}
	old, errOld := g.Holding(w.ofGo, hit.Old, variables.GoLimits(o, false))
	now, errNow := g.Holding(w.ofGo, hit.New, variables.GoLimits(o, false))
	if errOld != nil || errNow != nil {
		return
	}
	before, after := gotext.Format(old, o), gotext.Format(now, o)
	if goUnread(old) || goUnread(now) || before == after && !bytes.Equal(hit.Old, hit.New) {
		hit.Parts = hit.Words(w.name)
	} else {
		hit.Parts = goChanges(nil, w.name, old, now, o)
	}
	hit.Name, hit.OldText, hit.NewText = w.name, before, after
}

// goUnread reports whether a part of a value could not be read.
func goUnread(v delve.Value) bool {
	return v.Err != "" || slices.ContainsFunc(v.Children, goUnread)
}

// goChanges adds the smallest parts of a value that have changed, one more than are shown at most: fields of structs and
// elements of arrays.
func goChanges(all []stopped.WatchedPart, name string, old, now delve.Value, o values.Options) []stopped.WatchedPart {
	before, after := gotext.Format(old, o), gotext.Format(now, o)
	if before == after || len(all) > stopped.MaxWatchedParts {
		return all
	}
	isStruct, n := now.Kind == reflect.Struct, len(all)
	if (isStruct || now.Kind == reflect.Array) && len(old.Children) == len(now.Children) {
		for i := range now.Children {
			part := fmt.Sprintf("%s[%d]", name, i)
			if isStruct {
				part = name + "." + now.Children[i].Name
			}
			all = goChanges(all, part, old.Children[i], now.Children[i], o)
		}
	}
	if len(all) == n {
		all = append(all, stopped.WatchedPart{Name: name, Old: before, New: after})
	}
	return all
}
