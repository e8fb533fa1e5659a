package console

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hdb/console/shell"
	"hdb/testprogs"
)

// A countdown is a context that is cancelled when it has been looked at so often: the
// work that is done after that is counted in looks, not in time.
type countdown struct {
	context.Context
	looks, until atomic.Int64
}

func newCountdown(until int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.until.Store(until)
	return c
}

func (c *countdown) Err() error {
	if c.looks.Add(1) > c.until.Load() {
		return context.Canceled
	}
	return nil
}

// notHere are commands that want a terminal, another program, or hdb to end.
var notHere = []string{"shell", "!", "make", "quit", "pipe", "|", "open", "file", "attach", "source", "tui", "cd", "trust"}

// TestInterruptEndsEveryCommand gives up every command on a capture at its first look
// and in the middle: it says that it was interrupted and does next to nothing more.
func TestInterruptEndsEveryCommand(t *testing.T) {
	path := saveLog(t, 10000)
	t.Chdir(t.TempDir())
	var lines []string
	commandTable(nil).Each(func(full string, cmd *shell.Command) {
		if word := strings.Fields(full)[0]; cmd.Run != nil && !slices.Contains(notHere, word) {
			lines = append(lines, full)
		}
	})
	lines = append(lines, "allocs all", "allocs all if size == 7", "live all", "live if count == 3", "top per size", "top per thread", "top peak", "list -cost server.c:1",
		"diff start end", "diff 10% 50% per line", "diff "+path, "goto 50%", "goto 3s", "prev-alloc if size == 9", "prev-alloc 5000", "prev-alloc if size == 5000", "prev-free 9", "whence 0x5010", "history 0x5010", "info functions .",
		"assert --max-peak 1", "save --force x.hdb", "export pprof --force x.pb", "export ndjson --force x.json", "flamegraph --force x.html", "x/100xb 0x1000", "info functions server", "help all")
	reads := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "export ") || line == "flamegraph" || line == "table" {
			line += " --force"
		}
		run := func(ctx context.Context) (out string, err error) {
			st := newStage(t, nil)
			if err := st.Open(path); err != nil {
				t.Fatal(err)
			}
			st.out.Reset()
			err = st.Execute(ctx, line)
			return st.out.String(), errors.Join(err, st.Session.Close())
		}
		whole := newCountdown(math.MaxInt64)
		out, said := run(whole) // many commands have nothing to say about this capture
		looks := whole.looks.Load()
		if looks > 2 {
			reads++
		}
		for _, at := range slices.Compact([]int64{1, looks / 2}) {
			if at < 1 || at >= looks {
				continue
			}
			ctx := newCountdown(at)
			got, err := run(ctx)
			done := got == out && fmt.Sprint(err) == fmt.Sprint(said) // before anything that takes long
			if after := ctx.looks.Load() - at; !done && !errors.Is(err, shell.ErrInterrupted) || after > maxAfter {
				t.Errorf("%s, given up at look %d of %d: %v, %d looks after it, printed %.200q", line, at, looks, err, after, got)
			}
		}
	}
	if reads < 50 {
		t.Errorf("only %d commands of %d read or print", reads, len(lines))
	}
}

// TestInterruptEndsExamine gives up x, which reads a live process, while it looks for what
// lies before the address, and while it shows that.
func TestInterruptEndsExamine(t *testing.T) {
	st := newStage(t, nil)
	for _, line := range []string{"file " + testprogs.Build(t, "basic"), "start"} {
		if err := st.Execute(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"x/20i main", "x/20s $sp", "x/-20s $sp+64", "x/-1000i exit"} {
		whole := newCountdown(math.MaxInt64)
		if err := st.Execute(whole, line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		looks := whole.looks.Load()
		if looks < 20 {
			t.Errorf("%s: asked %d times whether it is given up", line, looks)
		}
		for _, at := range []int64{1, 2, looks / 2} {
			if err := st.Execute(newCountdown(at), line); !errors.Is(err, shell.ErrInterrupted) {
				t.Errorf("%s, given up at look %d of %d: %v", line, at, looks, err)
			}
		}
	}
	if err := st.Session.Close(); err != nil {
		t.Error(err)
	}
}

// maxAfter bounds the looks after a command was given up: each line that it would
// still print is one.
const maxAfter = 300
