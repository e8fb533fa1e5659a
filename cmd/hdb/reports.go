package main

import (
	"errors"
	"fmt"
	"io"

	"hdb/console/allocs"
	"hdb/session"
)

const reportUsage = `usage: hdb %s [flags] CAPTURE

%s

flags:
%s  --json             one JSON object

exit codes: 0 printed, 1 cannot be printed, 2 usage, 4 no such capture
`

// reportShort says what a report is.
func reportShort(verb string) string {
	switch verb {
	case "stats":
		return "Counts what was allocated: totals, sizes, the allocator's functions, and the source\nlines with the most bytes and blocks."
	case "summary":
		return "Shows on one screen what the program did with memory: its peak, what it did not free,\nthe functions that matter most, and the caveats."
	case "tree":
		return "Shows the calls that led to allocations as a tree, callers above the functions they\ncall, the largest first."
	}
	return "Draws the heap and the resident memory over time, with the marks."
}

// reports prints one of the reports of a capture.
func reports(main *options, out, errw io.Writer) int {
	verb, words := main.words[0], main.words[1:]
	if wantsHelp(words) {
		return printText(out, errw, fmt.Sprintf(reportUsage, verb, reportShort(verb), allocs.ReportHelp(verb)))
	}
	r, rest, err := allocs.ParseReport(verb, words)
	if err == nil && r.Keys {
		err = errors.New("tree: --interactive is for the console: hdb open CAPTURE")
	}
	path, err := oneCapture(verb, rest, err)
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	r.JSON = r.JSON || main.json
	return withCapture(path, errw, func(s *session.Session) error { return allocs.PrintReport(out, errw, s, &r) })
}
