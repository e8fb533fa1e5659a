package planes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/testprogs/oracle"
	"hdb/testprogs/real"
)

// A sample is a part of the calls of malloc that gdb looks at.
type sample struct {
	first, last int
	size        uint64 // of calls that are counted, at least
}

// agreement is the part of all frames that must be gdb's.
const agreement = 0.999

// TestStacksAgainstGDB has gdb stop at calls of malloc, by their number, and
// compares all code addresses of the stacks there with those of the recording.
func TestStacksAgainstGDB(t *testing.T) {
	for name, j := range realJobs(t) {
		if testing.Short() && name == "python3" {
			continue // its debug information takes gdb ten seconds
		}
		j.Silent = true
		// What gdb looks at; that costs it some milliseconds a call.
		s := sample{first: 20, last: 120, size: 64}
		if !testing.Short() {
			s = sample{first: 100, last: 2100, size: frequent(t, name) / 8}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := oracle.GDB(t, j.Command, oracle.Query{MinSize: s.size, First: s.first, Last: s.last})
			if len(want.Stops) == 0 {
				t.Fatalf("no call of malloc(>= %d) of number %d and more", s.size, s.first)
			}
			for _, p := range planes {
				compareStacks(t, newCalls(record(t, p, j)), s, want)
			}
		})
	}
}

// frequent is a size that the full work of a real program asks for often.
func frequent(t *testing.T, name string) uint64 {
	for _, p := range real.All(t) {
		if p.Name == name {
			return p.Frequent
		}
	}
	return 1024
}

// compareStacks finds gdb's stops among the events, by number.
func compareStacks(t *testing.T, c *calls, s sample, want oracle.Result) {
	t.Helper()
	var calls []capture.Event
	for e := range c.heap() {
		if c.function(e) == "malloc" && e.Size >= s.size && !c.inDuplicate(e) {
			calls = append(calls, e)
		}
	}
	if len(calls) != want.Count {
		t.Errorf("%s plane: %d calls of malloc(>= %d), gdb counts %d", c.plane, len(calls), s.size, want.Count)
	}
	frames, same := 0, 0
	first := ""
	for _, stop := range want.Stops {
		if stop.Nth > len(calls) {
			break
		}
		e := calls[stop.Nth-1]
		if e.Size != stop.Size {
			t.Errorf("%s plane: call %d asks for %d bytes, in gdb for %d", c.plane, stop.Nth, e.Size, stop.Size)
			return
		}
		pcs := physical(stop.Frames[1:])
		good := alike(c.Stack(e.Stack).PCs, pcs)
		frames, same = frames+len(pcs), same+good
		if good != len(pcs) && first == "" {
			first = fmt.Sprintf("call %d: %sgdb has\n%s", stop.Nth, c.describe(e), list(stop.Frames[1:]))
		}
	}
	if frames == 0 || float64(same) < agreement*float64(frames) {
		t.Errorf("%s plane: %d of %d frames are gdb's; first difference in %s", c.plane, same, frames, first)
	}
	t.Logf("%s plane: %d of %d frames of %d stacks are gdb's, of %d calls", c.plane, same, frames, len(want.Stops), want.Count)
}

// inDuplicate tells calls by strdup and its like, of libc or ld.so, which gdb's
// count leaves out.
func (c *calls) inDuplicate(e capture.Event) bool {
	s := c.Stack(e.Stack)
	if len(s.PCs) == 0 {
		return false
	}
	m := c.module(s.Code(0).Lookup(), e.Seq)
	return m != nil && (strings.Contains(m.Path, "/libc.so") || strings.Contains(m.Path, "/ld-linux")) && strings.HasSuffix(c.name(s, 0, e.Seq), "dup")
}

// physical are the addresses of frames that are on the stack: no inlined calls
// and no tail calls, and nothing beyond ld.so's first function, from which gdb
// goes on into the arguments.
func physical(frames []oracle.Frame) []addr.Run {
	var pcs []addr.Run
	for _, f := range frames {
		if !f.Inlined && !f.Tail {
			pcs = append(pcs, addr.Run(f.PC))
		}
		if f.Function == "_dl_start_user" {
			break
		}
	}
	return pcs
}

// alike counts equal frames from the inside out, and none after the first
// difference. A stack that is longer than gdb's agrees in none of its frames.
func alike(got, want []addr.Run) int {
	if len(got) > len(want) {
		return 0
	}
	for i := range got {
		if got[i] != want[i] {
			return i
		}
	}
	return len(got)
}

func list(frames []oracle.Frame) string {
	var b strings.Builder
	for i, f := range slices.All(frames) {
		if i == 24 {
			fmt.Fprintf(&b, "      ... %d frames in all\n", len(frames))
			break
		}
		fmt.Fprintf(&b, "      %#x %s\n", f.PC, f.Function)
	}
	return b.String()
}
