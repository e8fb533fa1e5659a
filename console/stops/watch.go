package stops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/inferior"
)

func watcher(kind inferior.WatchKind) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		kind := kind
		expr, condition := cutCondition(in.Raw)
		if rest, ok := strings.CutPrefix(expr, "-rw "); ok {
			kind, expr = inferior.ReadWrite, rest
		}
		location := false
		for _, flag := range []string{"-location ", "-l "} {
			if rest, ok := strings.CutPrefix(expr, flag); ok {
				location, expr = true, strings.TrimSpace(rest)
			}
		}
		expr, size := cutSize(expr)
		if strings.Trim(expr, "*") == "" {
			return errors.New("watch: *ADDRESS must follow: a number, $register or symbol")
		}
		st, err := watchMemory(c, expr, size, kind, location)
		if err != nil {
			return err
		}
		if condition != "" {
			if err := c.Session.Stops.SetCondition(st.ID, condition); err != nil {
				return errors.Join(err, c.Session.Stops.Delete(st.ID))
			}
		}
		TellStop(c, in, st)
		return nil
	}
}

// cutSize cuts off a size: a number behind a blank, where what is before it is an expression
// without it. The 5 of n == 5 is an operand.
func cutSize(text string) (expr string, size int) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexAny(text, " \t")
	if at < 0 || text[at+1] < '0' || text[at+1] > '9' {
		return text, 0
	}
	n, err := strconv.Atoi(text[at+1:])
	before := strings.TrimSpace(text[:at])
	if err != nil || before == "" || strings.IndexByte("=<>+-*/%&|^!~?:,([.", before[len(before)-1]) >= 0 {
		return text, 0
	}
	return before, n
}

// cutCondition cuts off what follows the word if.
func cutCondition(text string) (before, condition string) {
	for at := 0; ; at += len(" if") {
		i := strings.Index(text[at:], " if")
		if i < 0 {
			return text, ""
		}
		at += i
		if rest := text[at+len(" if"):]; rest != "" && strings.IndexByte(" \t(", rest[0]) >= 0 {
			return strings.TrimSpace(text[:at]), strings.TrimSpace(rest)
		}
	}
}

// watchMemory watches the memory of an expression's value; of a number or register, the
// memory that it is the address of. location: also when the function has returned that
// the expression belongs to.
func watchMemory(c *desk.Desk, expr string, size int, kind inferior.WatchKind, location bool) (*breakpoints.Stop, error) {
	first := strings.TrimLeft(expr, "*& ")
	if first != "" && (first[0] == '$' || first[0] >= '0' && first[0] <= '9') || strings.HasPrefix(expr, "&") {
		return c.Session.Stops.Watch(expr, size, kind)
	}
	p, err := c.Session.Values.Place(expr)
	if name, ok := strings.CutPrefix(expr, "*"); ok { // *VARIABLE is the variable, unless that is a pointer, also a smart one
		named, missing := c.Session.Values.Place(name)
		if missing == nil && named.InMemory && !named.Pointer && !(named.Struct && err == nil && p.InMemory) {
			return c.Session.Stops.Watch(expr, size, kind)
		}
	}
	switch {
	case err != nil:
		st, other := c.Session.Stops.Watch(expr, size, kind)
		if other != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		return st, nil
	case p.InMemory && p.Function, p.InMemory && p.Size == 0:
		return c.Session.Stops.Watch(expr, size, kind)
	case p.Register != "":
		return nil, fmt.Errorf("watch: %s is in $%s: the hardware watches memory", expr, p.Register)
	case p.Lost:
		return nil, fmt.Errorf("watch: %s is optimized out here", expr)
	case !p.InMemory:
		return nil, fmt.Errorf("watch: %s is not a variable: give a variable or *ADDRESS", expr)
	}
	if size == 0 {
		size = p.Size
	}
	return c.Session.Stops.WatchAt(expr, p.Addr, size, kind, p.Local && !location)
}
