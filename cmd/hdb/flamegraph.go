package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"hdb/console/allocs"
	"hdb/console/screen"
	"hdb/session"
)

const flamegraphUsage = `usage: hdb flamegraph [flags] CAPTURE

Writes an HTML page with a flame graph of a capture, for any browser, without a network.
It has zoom, search, callers below callees, all measures, and what grew between two
moments.

flags:
  -o FILE            the page; - is standard output. By default it is written next to
                     the capture
  --measure MEASURE  the measure drawn first: live (bytes not freed), peak (the default
                     once the program has ended), bytes, count, temporary or blocks
  --threads          the page can show each thread by itself
  --thread NAME|TID  only what threads with this name or TID allocated
  --from MOMENT      only blocks allocated after this moment
  --to MOMENT        and up to this one; a MOMENT is a mark, #4711, 30%, 1.5s, peak, start
  -f, --force        replace FILE

exit codes: 0 written, 1 cannot be written, 2 usage, 4 no such capture
`

const tableUsage = `usage: hdb table [flags] CAPTURE

Prints the functions of a capture with what they allocated: own is what they requested
themselves, directly or through allocators and wrappers; total adds their callees.

flags:
  -o FILE.html       write a page with a table to sort and search
  -n N               at most N functions as text, by default 40; 0 is all
  --measure MEASURE  the order of the functions: live (bytes not freed), peak (the
                     default once the program has ended), bytes, count, temporary or
                     blocks
  --thread NAME|TID  only what threads with this name or TID allocated
  --from MOMENT      only blocks allocated after this moment
  --to MOMENT        and up to this one; a MOMENT is a mark, #4711, 30%, 1.5s, peak, start
  -f, --force        replace FILE

exit codes: 0 written, 1 cannot be written, 2 usage, 4 no such capture
`

// page writes what hdb flamegraph or hdb table shows of a capture.
func page(main *options, out, errw io.Writer) int {
	verb, words := main.words[0], main.words[1:]
	if wantsHelp(words) {
		return printText(out, errw, map[string]string{"flamegraph": flamegraphUsage, "table": tableUsage}[verb])
	}
	p, rest, err := allocs.ParsePage(verb, words, true)
	path, err := oneCapture(verb, rest, err)
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if p.File == "" {
		p.File = p.DefaultFile(path)
	}
	return withCapture(path, errw, func(s *session.Session) error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // leave no half of a file
		defer stop()
		if err := p.Write(ctx, s, out); err != nil {
			return err
		}
		if p.File != "-" {
			fmt.Fprintln(errw, "wrote", screen.Clean(p.File))
			for _, line := range s.Recorded.Gaps() {
				warn(errw, line)
			}
		}
		return nil
	})
}
