package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/internal/goname"
	"hdb/recording"
	"hdb/values/blocktype"
)

// typeOf is the type of a block that is live at the moment, nil if it is not known.
func (r *Recording) typeOf(b *capture.Held) *blocktype.Type {
	if r.Types == nil {
		return nil
	}
	return r.Types.Of(r.Source, b)
}

// TopTypes adds up the blocks that are live at the moment by their types, arrays of any length alike. What is of
// no type that is known has a row for each function that it belongs to, "? FUNCTION". By tells the order: live or
// blocks.
func (r *Recording) TopTypes(ctx context.Context, by heap.Measure) ([]heap.Row, error) {
	sums := TypeSums{}
	sites := map[capture.StackID]heap.Site{}
	for i, b := range r.Index.Held(r.Moment) {
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t := r.typeOf(&b); t != nil {
			sums.Add(t, b.Size)
			continue
		}
		site, ok := sites[b.Stack]
		if !ok {
			site = UntypedSite(r.Site(b.Stack, b.Seq))
			sites[b.Stack] = site
		}
		sums.add(site, b.Size)
	}
	return sums.Rows(by), nil
}

// TypeSite is what the row of a type represents. Guesses have a row of their own.
func TypeSite(t *blocktype.Type) heap.Site {
	if t.How.Sure() {
		return heap.Site{Function: t.Kind(), Sure: true}
	}
	return heap.Site{Function: t.Kind() + "   (guess)"}
}

// UntypedSite is what the row of the blocks of a function represents that are of no type that is known.
func UntypedSite(of heap.Site) heap.Site {
	return heap.Site{Function: "? " + cmp.Or(of.Function, "(unknown)"), Module: of.Module}
}

// TypeSums are live blocks by their types, arrays of any length alike.
type TypeSums map[heap.Site]*heap.Row

// Add adds a block, of which t is nil if its type is not known.
func (s TypeSums) Add(t *blocktype.Type, size uint64) {
	if t == nil {
		s.add(UntypedSite(heap.Site{}), size)
		return
	}
	s.add(TypeSite(t), size)
}

func (s TypeSums) add(site heap.Site, size uint64) {
	row := s[site]
	if row == nil {
		row = &heap.Row{Site: site}
		s[site] = row
	}
	row.Bytes += size
	row.Count++
	row.LiveBytes += size
	row.LiveBlocks++
}

// Rows are the sums, the most first.
func (s TypeSums) Rows(by heap.Measure) []heap.Row {
	var out []heap.Row
	for _, row := range s {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b heap.Row) int {
		return cmp.Or(cmp.Compare(by.Of(b), by.Of(a)), cmp.Compare(a.Site.Function, b.Site.Function), cmp.Compare(a.Site.Module, b.Site.Module))
	})
	return out
}

// MatchType reports whether the user's name is a type's: as it is printed, with [] for an array of any length,
// the name of its elements, and either without struct, namespaces and template or type arguments, for which
// Go's names may have [...]. A * represents any text.
func MatchType(pattern string, t *blocktype.Type) bool {
	for _, name := range [...]string{t.String(), t.Kind(), t.Name} {
		for _, word := range [...]string{"struct ", "union ", "enum ", "class "} {
			name = strings.TrimPrefix(name, word)
		}
		pattern := strings.TrimPrefix(pattern, "struct ")
		if cond.Match(strings.ReplaceAll(pattern, "[...]", ""), goname.TypeArguments(name, "")) {
			return true
		}
		for {
			if cond.Match(pattern, name) || cond.Match(pattern, withoutArguments(name)) {
				return true
			}
			open := strings.IndexByte(name, '<')
			i := strings.Index(name, "::")
			if i < 0 || open >= 0 && open < i {
				break
			}
			name = name[i+2:]
		}
	}
	return false
}

// Type reports whether the block that an event made is of such a type: of blocks that are live memory is
// asked, too.
func (v *environment) Type(pattern string) bool {
	if v.r.Types == nil || !v.e.Allocates() {
		return false
	}
	return v.typeMatches(pattern, v.e)
}

func (v *environment) typeMatches(pattern string, e *recording.Event) bool {
	b := capture.Held{Seq: e.Seq, Addr: e.Addr, Size: e.Size, Stack: e.Stack, TID: e.TID, Func: e.Func, Kind: e.Kind}
	var t *blocktype.Type
	if v.live {
		t = v.r.Types.Of(v.r.Source, &b)
	} else {
		t = v.r.Types.Declared(v.r.Source, &b)
	}
	return t != nil && MatchType(pattern, t)
}
