package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hdb/console/desk"
)

// Notices from other goroutines stand between the lines of commands, of the pager
// and of hdb's own messages. Run with -race.
func TestNoticesFromOtherGoroutines(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var both bytes.Buffer // as a terminal has it
		st := newStage(t, func(c *Config) { c.Out, c.Err, c.JSON = &both, &both, asJSON }, strings.Split(strings.Repeat("help all\necho one\nnonsense\nset width 90\n", 20), "\n")...)
		stop := make(chan struct{})
		var talkers sync.WaitGroup
		for g := range 2 {
			talkers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						st.Notify(fmt.Sprintf("notice %d of %d.", i, g))
					}
				}
			})
		}
		st.Run()
		close(stop)
		talkers.Wait()
		whole := regexp.MustCompile(`^notice \d+ of [01]\.$`)
		n := 0
		for line := range strings.Lines(both.String()) {
			if !strings.Contains(line, "notice ") {
				continue
			}
			if asJSON {
				if n++; !json.Valid([]byte(line)) {
					t.Fatalf("garbled: %q", line)
				}
				continue
			}
			if n++; !whole.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("garbled: %q", line)
			}
		}
		if n == 0 {
			t.Error("no notice was printed")
		}
	}
}

// chatter is notices without end, for the terminal's child.
func chatter(c *desk.Desk) {
	for i := 0; ; i++ {
		c.Notify(fmt.Sprintf("notice %d.", i))
		time.Sleep(time.Millisecond)
	}
}

// What a person types stays whole while notices come, and these are printed when
// the line is complete.
func TestNoticesWaitForThePrompt(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HDB_CONSOLE_TEST_NOTICES=1")
	k := newKeyboard(t, cmd)
	k.expect("(hdb) ")
	for range 3 {
		for _, key := range "echo typed" {
			k.press(string(key))
			time.Sleep(10 * time.Millisecond) // for notices in between
		}
		k.press(keyEnter)
		k.expect("echo typed")
		k.expect("notice ")
		k.expect("typed\r\n")
		k.expect("(hdb) ")
	}
	before, _, _ := strings.Cut(k.seen, "(hdb) ")
	if strings.Contains(before, "notice") {
		t.Errorf("a notice stands behind the prompt: %q", before)
	}
	k.press("help all" + keyEnter)
	k.expect("-- more:")
	time.Sleep(50 * time.Millisecond) // for notices meanwhile
	k.press("q")
	k.expect("notice ")
	k.expect("(hdb) ")
	k.press("quit" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}
