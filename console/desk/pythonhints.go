package desk

import (
	"errors"
	"fmt"
	"strings"

	"hdb/breakpoints"
	"hdb/python/inspect"
	"hdb/values"
)

// Words of native code that the selected thread's Python has are reported where native code lacks
// such words.

// PythonFunction is what to type for a stop in a function that is nowhere in native code, but
// that Python has where the selected thread is; "" if it has none.
func (c *Desk) PythonFunction(st *breakpoints.Stop) string {
	if !st.Pending || st.Kind != breakpoints.StopFunction || st.File != "" {
		return ""
	}
	text, ok := c.inPython(st.Function)
	if !ok || !strings.HasPrefix(text, "<function ") {
		return ""
	}
	return "no native function; a function of Python: py break " + st.Function
}

// OrInPython adds to the error of an expression with a name that native code does not have
// what prints it, if Python has it.
func (c *Desk) OrInPython(expr string, err error) error {
	if none := (*values.NoSymbolError)(nil); !errors.As(err, &none) {
		return err
	}
	if _, ok := c.inPython(expr); !ok {
		return err
	}
	return fmt.Errorf("%w; Python has it: py print %s", err, expr)
}

// inPython is the value of an expression in the selected function of Python, if there is one.
func (c *Desk) inPython(expr string) (text string, ok bool) {
	text, err := c.Session.Python.Eval(expr, inspect.Limits{Elements: 1, Depth: 1})
	return text, err == nil
}
