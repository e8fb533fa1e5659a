package console

import (
	"context"
	"strconv"
	"strings"

	"hdb/console/data"
	"hdb/console/shell"
	"hdb/console/stops"
	"hdb/names"
)

// Attach takes the process under the debugger, as `attach` does.
func (c *Console) Attach(pid int) error {
	arg := strconv.Itoa(pid)
	return stops.RunAttach(context.Background(), c.Desk, shell.Input{Name: "attach", Raw: arg, Args: []string{arg}})
}

// CommandLine is the line of the console that the words of a shell's command line represent: it is
// read back as those words. A condition or expression may be one word or several.
func CommandLine(words []string) (string, error) {
	cmd, _, _, err := commandTable(nil).Resolve(strings.Join(words, " "))
	if err != nil {
		return "", err
	}
	if cmd.Raw {
		return strings.Join(words, " "), nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\"'\\") {
			quoted[i] = shell.QuoteArg(w)
		}
	}
	return strings.Join(quoted, " "), nil
}

// Fetched tells what servers have sent: it is what session.Config.Fetched should call. Any
// goroutine may call it.
func (c *Console) Fetched(f names.Fetched) { c.Notify(data.FetchedText(f)) }
