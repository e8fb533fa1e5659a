package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"hdb/console/allocs"
	"hdb/console/screen"
	"hdb/session"
)

const exportUsage = `usage: hdb export FORMAT [flags] CAPTURE

Writes a capture's totals, or all its events, in the format of another tool.

formats:
%s
flags:
  -o FILE            the result; - is standard output. By default it is written next to
                     the capture, with the format's extension; a text format goes to
                     standard output if that is not a terminal
  --measure MEASURE  live (bytes not freed, the default), peak, bytes, count, temporary
                     or blocks. Formats with one number per stack have only this;
                     formats with several have it first
  --lines            collapsed writes "func (file:line)" for a frame, not only its function
  --threads          a stack counts separately for each thread that allocated there: a
                     label in pprof, the outermost frame in other formats
  --thread NAME|TID  only what threads with this name or TID allocated
  --from MOMENT      only blocks allocated after this moment
  --to MOMENT        and up to this one; a MOMENT is a mark, #4711, 30%%, 1.5s, peak, start
  --root DIR         sarif names sources relative to DIR, by default the working directory
  -f, --force        replace FILE

exit codes: 0 written, 1 cannot be written, 2 usage, 4 no such capture
`

// export writes a capture in a format of other tools.
func export(main *options, out, errw io.Writer) int {
	words := main.words[1:]
	if wantsHelp(words) {
		return printText(out, errw, fmt.Sprintf(exportUsage, allocs.FormatList()))
	}
	e, rest, err := allocs.ParseExport(words)
	path, err := oneCapture("export", rest, err)
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if e.File == "" {
		e.File = e.DefaultFile(path)
		if f, ok := out.(*os.File); ok && e.Format.Text && !term.IsTerminal(int(f.Fd())) {
			e.File = "-"
		}
	}
	return withCapture(path, errw, func(s *session.Session) error {
		ctx := context.Background()
		if e.Format.Tables == nil { // leave no half of a file
			var stop func()
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
		}
		if err := e.Write(ctx, s, out); err != nil {
			return err
		}
		if e.File != "-" {
			fmt.Fprintln(errw, "exported", screen.Clean(e.File))
		}
		for _, line := range s.Recorded.Gaps() { // which not each format has a place for
			warn(errw, line)
		}
		return nil
	})
}
