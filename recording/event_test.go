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

// A recorded event has the text that its call had.
func TestRecalledCalls(t *testing.T) {
	for want, e := range map[string]Event{
		"sbrk(4096) = 0x8000":            {Function: "sbrk", Event: capture.Event{Kind: capture.Map, Addr: 0x8000, Size: 4096}},
		"sbrk(-4096) = 0x9000":           {Function: "sbrk", Event: capture.Event{Kind: capture.Unmap, Addr: 0x8000, Size: 4096}},
		"sbrk(-4096) = -1":               {Function: "sbrk", Event: capture.Event{Kind: capture.Unmap, Size: 4096, Failed: true}},
		"brk(0x8000)":                    {Function: "brk", Event: capture.Event{Kind: capture.Map, Addr: 0x8000}},
		"brk(0x9000)":                    {Function: "brk", Event: capture.Event{Kind: capture.Map, Addr: 0x8000, Size: 4096}},
		"brk(0xa000)":                    {Function: "brk", Event: capture.Event{Kind: capture.Unmap, Addr: 0xa000, Size: 4096}},
		"brk(?) = -1":                    {Function: "brk", Event: capture.Event{Kind: capture.Map, Failed: true}},
		"mprotect(?, 1, PROT_NONE) = -1": {Function: "mprotect", Event: capture.Event{Kind: capture.Protect, Size: 1, Failed: true}},
	} {
		if got := e.Call(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
