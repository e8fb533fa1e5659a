// Package when has the conditions of stops on state, break when COND: what they say, and what they
// have to remember of the events that they follow.
//
//	live > 2GiB                      bytes in live blocks
//	blocks > 1M                      live blocks
//	growth(10s) > 50MiB              what live has grown by in the last 10 seconds
//	live(func("load")) > 1GiB        bytes in live blocks that were made so
//	blocks(func("load")) > 20k       and their number
//	age > 30s && func("load")        some block that was made so is live, and older than that
//	leaked(load)                     a call of load has ended, and a block that it made is live
//
// Terms are joined by &&. Those that compare anything else, size, thread, func() and the like,
// apply to the event that made the condition true; if there is an age, to the block of that age;
// and together with leaked(), to the blocks that are live.
package when

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hdb/internal/cond"
)

// A Cond is a condition on state. It never changes after Parse.
type Cond struct {
	src    string
	heap   *cond.Cond // compares live and blocks; nil: nothing does
	event  *cond.Cond // about the event, or the block that is old; nil: nothing is
	grown  []growth
	groups []group
	age    time.Duration // 0: none
	leaked leaked        // of which the others, but event, are not
}

// A growth is growth(D) OP N.
type growth struct {
	over    time.Duration
	compare *cond.Compare
}

// A group is live(COND) OP N or blocks(COND) OP N.
type group struct {
	of      *cond.Cond
	compare *cond.Compare
}

// Parse reads a condition on state.
func Parse(src string) (*Cond, error) {
	c := &Cond{src: strings.TrimSpace(src)}
	if c.src == "" {
		return nil, fmt.Errorf("when: a condition must follow, as in when live > 2GiB")
	}
	terms, err := split(c.src)
	if err != nil {
		return nil, err
	}
	var heap, event []string
	for _, term := range terms {
		if special, err := c.special(term); err != nil {
			return nil, fmt.Errorf("when: %s: %w", term, err)
		} else if special {
			continue
		}
		parsed, err := cond.Parse(term)
		if err != nil {
			return nil, err
		}
		if onHeap(parsed.Root()) {
			heap = append(heap, term)
		} else {
			event = append(event, term)
		}
	}
	if c.heap, err = join(heap); err != nil {
		return nil, err
	}
	if c.event, err = join(event); err != nil {
		return nil, err
	}
	switch {
	case c.Leaked() != "":
		return c, c.alone()
	case c.heap == nil && len(c.grown) == 0 && len(c.groups) == 0 && c.age == 0:
		return nil, fmt.Errorf("when: %s: no live, blocks, growth(), age or leaked(): to stop at single events use `break alloc if`", c.src)
	}
	return c, nil
}

// String is the condition as it was written.
func (c *Cond) String() string { return c.src }

// join is the conjunction of terms, nil without any.
func join(terms []string) (*cond.Cond, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	return cond.Parse(strings.Join(terms, " && "))
}

// all tells that a test holds of all terms of a condition.
func all(n cond.Node, test func(cond.Node) bool) bool {
	var terms []cond.Node
	switch n := n.(type) {
	case *cond.And:
		terms = n.Terms
	case *cond.Or:
		terms = n.Terms
	default:
		return test(n)
	}
	return !slices.ContainsFunc(terms, func(t cond.Node) bool { return !all(t, test) })
}

// onHeap tells conditions that compare live and blocks, and nothing else.
func onHeap(n cond.Node) bool {
	return all(n, func(n cond.Node) bool {
		switch n := n.(type) {
		case *cond.Not:
			return onHeap(n.X)
		case *cond.Compare:
			return n.Field == cond.Live || n.Field == cond.Blocks
		}
		return false
	})
}

// special reads a term that conditions of events do not have.
func (c *Cond) special(term string) (bool, error) {
	word, rest := term, ""
	if i := strings.IndexAny(term, "( \t<>=!"); i > 0 {
		word, rest = term[:i], strings.TrimSpace(term[i:])
	}
	switch {
	case word == "age":
		return true, c.older(rest)
	case word == "leaked":
		return true, c.leaves(rest)
	case word == "growth":
		inside, after, err := parenthesis(rest)
		if err != nil {
			return true, fmt.Errorf("growth(10s) > 50MiB expected")
		}
		over, err := duration(inside)
		if err != nil {
			return true, err
		}
		cmp, err := comparison(cond.Live, after)
		c.grown = append(c.grown, growth{over, cmp})
		return true, err
	case (word == "live" || word == "blocks") && strings.HasPrefix(rest, "("):
		inside, after, err := parenthesis(rest)
		if err != nil {
			return true, err
		}
		of, err := cond.Parse(inside)
		if err != nil {
			return true, err
		}
		field, _ := cond.FieldNamed(word)
		cmp, err := comparison(field, after)
		c.groups = append(c.groups, group{of, cmp})
		return true, err
	}
	return false, nil
}

// older reads what follows age.
func (c *Cond) older(rest string) error {
	text, ok := strings.CutPrefix(rest, ">")
	if !ok {
		return fmt.Errorf("age > 30s expected")
	}
	age, err := duration(strings.TrimSpace(strings.TrimPrefix(text, "=")))
	switch {
	case err != nil:
		return err
	case c.age != 0:
		return fmt.Errorf("only one age is allowed")
	}
	c.age = age
	return nil
}

// parenthesis takes what is in the parenthesis that a text begins with.
func parenthesis(text string) (inside, after string, err error) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case text[i] == '(':
			depth++
		case text[i] == ')':
			if depth--; depth == 0 {
				return strings.TrimSpace(text[1:i]), strings.TrimSpace(text[i+1:]), nil
			}
		case depth == 0:
			return "", "", fmt.Errorf("( expected")
		}
	}
	return "", "", fmt.Errorf(") expected")
}

// comparison reads an operator and a number.
func comparison(f cond.Field, text string) (*cond.Compare, error) {
	c, err := cond.Parse(f.String() + " " + text)
	if err != nil {
		return nil, err
	}
	cmp, ok := c.Root().(*cond.Compare)
	if !ok {
		return nil, fmt.Errorf("a comparison with a number expected, as in > 1M")
	}
	return cmp, nil
}

// duration reads a span of time: 10s, 500ms, 2min.
func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.Replace(strings.ReplaceAll(text, " ", ""), "min", "m", 1))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: a time expected, as 10s, 500ms or 2min", text)
	}
	return d, nil
}

// split cuts a condition at the && that are in no parenthesis and no text.
func split(src string) (terms []string, err error) {
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(src[i:], "&&"):
			terms = append(terms, src[from:i])
			i++
			from = i + 1
		}
	}
	terms = append(terms, src[from:])
	for i, t := range terms {
		if terms[i] = strings.TrimSpace(t); terms[i] == "" {
			return nil, fmt.Errorf("when: %s: a condition is missing before or after &&", src)
		}
	}
	return terms, nil
}

// Exact is the condition as one of single events, at which it becomes true when they are
// allocations: nil if it asks for more, or if frees may make it true.
func (c *Cond) Exact() *cond.Cond {
	if len(c.grown) > 0 || len(c.groups) > 0 || c.age != 0 || c.Leaked() != "" || !rises(c.heap.Root()) {
		return nil
	}
	text := "(" + c.heap.Source() + ")"
	if c.event != nil {
		text += " && (" + c.event.Source() + ")"
	}
	exact, err := cond.Parse(text)
	if err != nil {
		return nil
	}
	return exact
}

// rises tells conditions that only allocations make true.
func rises(n cond.Node) bool {
	return all(n, func(n cond.Node) bool {
		c, ok := n.(*cond.Compare)
		return ok && (c.Op == cond.GT || c.Op == cond.GE)
	})
}

// Counts tells conditions that ask how much is live.
func (c *Cond) Counts() bool { return c.heap != nil || len(c.groups) > 0 }

// Asked is a condition with all that is asked of single events, nil if nothing is. A nil Cond asks
// nothing.
func (c *Cond) Asked() *cond.Cond {
	if c == nil {
		return nil
	}
	var all []string
	if c.event != nil {
		all = append(all, "("+c.event.Source()+")")
	}
	for _, g := range c.groups {
		all = append(all, "("+g.of.Source()+")")
	}
	asked, err := join(all)
	if err != nil {
		return nil
	}
	return asked
}
