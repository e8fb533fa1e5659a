package probe

import (
	"testing"

	"hdb/inferior"
)

// TestEnterWhenDisarmed has a thread run a function whose jump has been taken out since it offered the call: it
// stands at the entry already, and nothing there leads to the core.
func TestEnterWhenDisarmed(t *testing.T) {
	if err := new(matcher).enter(new(inferior.Thread), new(site), 0x1000); err != nil { // PlaceAt would ask the thread
		t.Error(err)
	}
}
