package session

import (
	"strings"
	"testing"

	"hdb/inferior"
)

// TestWatchpointOfWhatWasLetGo disables a watchpoint, whose address means nothing in another process, and says what has
// become of the program: one that was let go runs on.
func TestWatchpointOfWhatWasLetGo(t *testing.T) {
	for _, c := range []struct {
		want string
		end  func(*Session) (int, error)
	}{
		{"the program that it watched is detached", (*Session).Detach},
		{"the program that it watched is gone", (*Session).Kill},
	} {
		s := open(t, "globals")
		said := ""
		s.target.Config.Notify = func(line string) { said += line + "\n" }
		must(t)(s.Start(nil))
		if _, err := s.Stops.Watch("int_value", 4, inferior.Write); err != nil {
			t.Fatal(err)
		}
		if _, err := c.end(s); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said, c.want) || s.Stops.All()[0].Enabled {
			t.Errorf("want %q in %q", c.want, said)
		}
	}
}
