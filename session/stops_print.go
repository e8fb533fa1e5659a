package session

import (
	"errors"
	"fmt"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/cformat"
	"hdb/internal/lazyregexp"
	"hdb/session/target"
	"hdb/session/variables"
)

// beforeFormat is what is between the location of dprintf and its format.
var beforeFormat = lazyregexp.New(`,\s*"`)

// Dprintf sets a numbered stop that prints and continues: LOCATION [if CONDITION],"FORMAT"[,
// EXPRESSION...].
func (s *Stops) Dprintf(text string) (*breakpoints.Stop, error) {
	at := beforeFormat().FindStringIndex(text)
	if at == nil || strings.TrimSpace(text[:at[0]]) == "" {
		return nil, fmt.Errorf(`dprintf: LOCATION,"FORMAT",EXPRESSION... expected`)
	}
	if s.target.Mode() == target.Saved {
		return nil, fmt.Errorf("dprintf: %w", target.ErrSaved)
	}
	f, err := cformat.Parse(text[at[1]-1:])
	if err != nil {
		return nil, fmt.Errorf("dprintf: %w", err)
	}
	st, err := s.Break(text[:at[0]], false)
	if err != nil {
		return nil, err
	}
	st.Print = f
	return st, nil
}

// printStop prints what a dprintf is for.
func printStop(v *variables.OfFrame, st *breakpoints.Stop) {
	text, err := st.Print.Expand(func(i int, kind cformat.Kind) (x any, err error) {
		expr := st.Print.Args[i]
		if name, ok := strings.CutPrefix(expr, "$"); ok && kind == cformat.Integer {
			if w, ok := v.Word(name); ok { // without a look at the stack
				return w.N, nil
			}
		}
		err = v.Read(func() (err error) {
			x, err = v.Values.FormatArgument(expr, kind)
			return err
		})
		return x, err
	})
	if err != nil {
		noteFailed(v.Values.Target, st, "", err)
		return
	}
	v.Values.Target.Config.Print(text)
}

// noteFailed tells why a stop that continues, or its condition, as what begins with, had no value. It
// does so once in a run for each kind of error: the address that an error names may be another one each
// time.
func noteFailed(c *target.Target, st *breakpoints.Stop, what string, err error) {
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	if key := fmt.Sprintf("%s %d: %s%T", st.Word(), st.ID, what, inner); !c.Said[key] {
		c.Said[key] = true
		c.Notify("%s %d: %s%v", st.Word(), st.ID, what, err)
	}
}
