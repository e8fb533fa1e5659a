package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"hdb/console"
	"hdb/internal/manual"
)

// leaksUsage is what comes before the console's help in the manual page.
const leaksUsage = `hdb leaks shows the blocks that nothing points to when a program exits, or for a capture, the blocks that were not freed.

usage:
  hdb leaks [ARGS...] -- PROG [ARGS...]
  hdb leaks [ARGS...] CAPTURE

`

// writeManual writes the manual pages to a directory: hdb(1), one for each verb, and hdb-commands(7) for the console's
// commands. The texts are those of --help. leaks is a command of the console whose text has no parts with headings.
func writeManual(dir string, in *os.File, errw io.Writer) int {
	_, day := source()
	verbs := append(slices.DeleteFunc(firstWords(), func(word string) bool { return word == "version" }), "leaks")
	see := []string{"hdb(1)", "hdb-commands(7)"}
	for _, verb := range verbs {
		see = append(see, "hdb-"+verb+"(1)")
	}
	slices.Sort(see[2:])
	pages := map[string]string{"hdb-commands.7": console.Roff(day, version())}
	for _, verb := range append(verbs, "") {
		p := manual.Page{Name: "hdb", Section: 1, See: see[1:], Date: day, Version: version()}
		argv := []string{"--help"}
		if verb != "" {
			p.Name, p.See = "hdb-"+verb, see[:2]
			argv = []string{verb, "--help"}
		}
		var text bytes.Buffer
		if code := run(argv, in, &text, errw); code != 0 {
			return code
		}
		p.Text = text.String()
		if verb == "leaks" {
			p.More = p.Text
			p.Text = leaksUsage
		}
		pages[p.Name+".1"] = p.Roff()
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return fail(errw, fmt.Errorf("manual: %w", err), 1)
		}
	}
	return 0
}
