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

Writes a page that draws the stacks of a capture, for any browser. It needs no
network: zoom, search, callers below callees, all measures, and what grew between
two moments are in it.

flags:
  -o FILE            where to; - is standard output. Unless told, the page stands
                     beside the capture
  --measure MEASURE  what is drawn first: live (bytes not given back, the default;
                     peak where less than a hundredth of that is left at the end),
                     peak, bytes, count, temporary or blocks
  --threads          with a choice of the thread that allocated
  --thread NAME|TID  only what the threads of this name or TID allocated
  --from MOMENT      only blocks that were allocated after a moment: a mark, #4711, 30%,
  --to MOMENT        1.5s, peak, start; and up to one
  -f, --force        replace FILE

exit codes: 0 written, 1 cannot be written, 2 usage, 4 no such capture
`

const tableUsage = `usage: hdb table [flags] CAPTURE

Prints the functions of a capture with what they allocated: own is what they asked
for themselves, the allocator's wrappers aside, total what was allocated below them.

flags:
  -o FILE.html       write a page with a table to sort and search
  -n N               at most N functions of the text; 0: all. 40 unless told
  --measure MEASURE  by which they are sorted: live (bytes not given back, the
                     default; peak where less than a hundredth of that is left at
                     the end), peak, bytes, count, temporary or blocks
  --thread NAME|TID  only what the threads of this name or TID allocated
  --from MOMENT      only blocks that were allocated after a moment: a mark, #4711, 30%,
  --to MOMENT        1.5s, peak, start; and up to one
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
		p.File = p.Beside(path)
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
