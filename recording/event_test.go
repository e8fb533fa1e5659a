package recording

import (
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
)

// The event of a call that an exception or longjmp left says so.
func TestEventOfAbandonedCall(t *testing.T) {
	malloc, _ := breakpoints.Named("malloc")
	call := breakpoints.Call{Function: malloc, Event: capture.Event{Kind: capture.Alloc, Size: 32, Failed: true}, Abandoned: true}
	if e := EventOf(call); !e.Abandoned || !e.Failed || e.Size != 32 || e.Function != "malloc" {
		t.Errorf("%+v", e)
	}
	call.Abandoned = false
	if e := EventOf(call); e.Abandoned {
		t.Errorf("%+v", e)
	}
}
