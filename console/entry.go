package console

import (
	"context"
	"strconv"
)

// Clean makes text that came from a program, a symbol or a file fit to print.
func Clean(s string) string { return clean(s) }

// Attach takes the process under the debugger, as `attach` does.
func (c *Console) Attach(pid int) error {
	arg := strconv.Itoa(pid)
	return runAttach(context.Background(), c, Input{Name: "attach", Raw: arg, Args: []string{arg}})
}
