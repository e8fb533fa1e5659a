package console

import (
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestWordsOfDelve types what delve's users do: it does what they mean, or says what hdb has for it.
func TestWordsOfDelve(t *testing.T) {
	prog := testprogs.Build(t, "basic")
	for _, c := range []struct {
		want     string
		commands []string
	}{
		{"1: sizeof(int) = 4\n", []string{"start", "display -a sizeof(int)"}},
		{"no displays", []string{"start", "display -a sizeof(int)", "display -d 1", "info display"}},
		{"1: -8 = -8\n", []string{"start", "display -8"}},
		{"like delve's rewind", []string{"rw"}},
		{"for delve's rev next: see help reverse-next", []string{"list 1,1", "rev next"}},
		{"breakpoints have numbers, and no names as in delve: basic.c:3", []string{"break here basic.c:3"}},
		{`info sources: "-x": -basename, -dirname or -- expected`, []string{"info sources -x"}},
		{"/basic.c\n", []string{"info sources -basename ^basic"}},
	} {
		out, errs, _ := hdb(t, nil, prog, c.commands...)
		if !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: not %q in\n%s%s", c.commands, c.want, out, errs)
		}
	}
}

// $_thread in the past is the thread of the event that was gone back to, not the process's.
func TestThreadInThePast(t *testing.T) {
	out, errs, _ := hdb(t, nil, testprogs.Build(t, "phases"), "record start", "start", "break alloc if size >= 1MiB", "continue", "break malloc", "reverse-continue", `printf "thread %d of %d\n", $_thread, $_pid != 0`)
	if !strings.Contains(out, "thread 1 of 1\n") {
		t.Errorf("printed\n%s%s", out, errs)
	}
}
