package console

import (
	"context"
	"strconv"
)

// Attach takes the process under the debugger, as `attach` does.
func (c *Console) Attach(pid int) error {
	arg := strconv.Itoa(pid)
	return runAttach(context.Background(), c, Input{Name: "attach", Raw: arg, Args: []string{arg}})
}
