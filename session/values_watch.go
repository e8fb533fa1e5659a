package session

import (
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values"
)

// A watchedValue is the expression of a watchpoint with its type.
type watchedValue struct {
	name  string
	value values.Value
}

// watched finds the expression whose value is the size bytes at the address that are to be
// watched: expr, or expr without the * of *VARIABLE. It is nil if there is none with a type,
// as of *ADDRESS and in programs of Go.
func (v *Values) watched(expr string, a addr.Run, size int) *watchedValue {
	expr = strings.TrimSpace(expr)
	if ok, _ := v.asGo(expr, func(*inferior.Go, inferior.GoPlace) error { return errGoPlace }); ok {
		return nil
	}
	for _, name := range []string{expr, strings.TrimPrefix(expr, "*")} {
		var found *watchedValue
		err := v.guarded(func(f *values.Frame) error {
			x, err := v.w.Eval(f, name)
			if err != nil {
				return err
			}
			if at, ok := x.Addr(); ok && at == a && x.Type.Size() == int64(size) {
				found = &watchedValue{name, x}
			}
			return nil
		})
		if err == nil && found != nil {
			return found
		}
	}
	return nil
}

// maxWatchedText bounds the elements of a value in the report of a watchpoint, maxWatchedParts its
// members that changed.
const (
	maxWatchedText  = 64
	maxWatchedParts = 8
)

// neighbour tells that a bit field is watched and only others of its bytes have changed.
func (v *Values) neighbour(b *binding, c inferior.Change) bool {
	if b.typed == nil || !b.typed.value.BitField() || b.access != inferior.Write {
		return false
	}
	w := WatchHit{Old: c.Old, New: c.New}
	v.watchTexts(b.typed, &w)
	return w.Name != "" && w.OldText == w.NewText
}

// watchTexts adds to a hit what its bytes are as values. A hit whose value cannot be read
// any more keeps the bytes.
func (v *Values) watchTexts(w *watchedValue, hit *WatchHit) {
	if hit.Old == nil || hit.New == nil {
		return
	}
	o := values.Options{Elements: maxWatchedText}
	var before, after string
	var parts []WatchedPart
	if symbols.Guard(func() {
		old, now := w.value.Holding(hit.Old), w.value.Holding(hit.New)
		before, after = v.w.Format(nil, old, o), v.w.Format(nil, now, o)
		for _, c := range values.Changes(w.name, old, now, maxWatchedParts+1) {
			parts = append(parts, WatchedPart{c.Name, v.w.Format(nil, c.Old, o), v.w.Format(nil, c.New, o)})
		}
	}) == nil {
		hit.Name, hit.OldText, hit.NewText, hit.Parts = w.name, before, after, parts
	}
}
