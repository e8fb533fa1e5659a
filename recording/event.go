package recording

import (
	"fmt"
	"math"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/addr"
)

// An Event is an allocation event with its function, as a call.
type Event struct {
	capture.Event
	Function string
	live     *breakpoints.Call // of a live call, which knows more than the event keeps
	sized    bool              // of a live call: the block that it frees is known, even if its size is 0
}

// SizeKnown reports whether Size is a size, see capture.Event.
func (e *Event) SizeKnown() bool { return e.sized || e.Event.SizeKnown() }

// Known tells that the block which an event returns was known to be live, or is one of which a pool
// has cut others.
func (e *Event) Known() bool {
	chunk := e.live != nil && e.live.Function.Size.From == breakpoints.Nowhere && e.Kind == capture.Free && e.Size != 0
	return e.sized || e.Ended.Recorded || chunk
}

// OfKnown is the event of a call to come, of a block that is known to be live.
func (e *Event) OfKnown() *Event {
	known := *e
	known.sized = true
	return &known
}

// EventOf is the event of a call that was followed.
func EventOf(call breakpoints.Call) *Event {
	e := &Event{Event: call.Event, Function: call.Function.Name, live: &call}
	e.Abandoned = call.Abandoned
	return e
}

// Made is an address in the code of the allocator function of a live call, 0 of a recorded one.
func (e *Event) Made() addr.Run {
	if e.live == nil {
		return 0
	}
	return e.live.Entry
}

// Call is the event as a call, malloc(4194304) = 0x7ffff4c00010.
func (e *Event) Call() string {
	return e.CallText(breakpoints.PlainBytes)
}

// CallText is Call with the size as size words it.
func (e *Event) CallText(size func(n uint64) string) string {
	if e.live != nil {
		return e.live.Text(size)
	}
	if fn, ok := breakpoints.Recalled(e.Function, e.Aux); ok {
		return Recalled(fn, e.Event).Text(size)
	}
	return e.plainCall(size)
}

// plainCall is the call of a function that only the recording session knew.
func (e *Event) plainCall(size func(n uint64) string) string {
	text := fmt.Sprintf("%s(%s)", e.Function, size(e.Size))
	switch {
	case e.Kind == capture.Free || e.Kind == capture.Unmap:
		return fmt.Sprintf("%s(%#x)", e.Function, e.Addr)
	case e.Kind == capture.Protect:
		return fmt.Sprintf("%s(%#x, %s)", e.Function, e.Addr, size(e.Size))
	case e.Abandoned:
		return text + " did not return"
	case e.Failed:
		return text + " = NULL"
	case e.Kind == capture.Alloc && e.Addr == 0:
		return text + breakpoints.UnknownPointer
	}
	return fmt.Sprintf("%s = %#x", text, e.Addr)
}

// Recalled rebuilds a call of the function from what its event keeps.
func Recalled(fn breakpoints.Function, e capture.Event) breakpoints.Call {
	c := breakpoints.Call{Function: fn, Event: e, Abandoned: e.Abandoned}
	put := func(o breakpoints.Operand, v uint64) {
		switch {
		case o.From == breakpoints.Argument && o.Index < len(c.Args):
			c.Args[o.Index] = v
		case o.From == breakpoints.GoRegister:
			c.Args[0] = v
		}
	}
	size := e.Size
	if fn.Count.From != breakpoints.Nowhere {
		put(fn.Count, e.Aux)
		if c.SizeLost = size == math.MaxUint64 || e.Aux == 0; e.Aux != 0 {
			size /= e.Aux
		}
	}
	if fn.MayUnmap() && e.Kind == capture.Unmap {
		size = -size
	}
	put(fn.Size, size)
	put(fn.Align, e.Aux)
	put(fn.Pool, e.Aux)
	if mode := capture.MapMode(e.Aux); fn.Old.From == breakpoints.Nowhere {
		put(fn.Mode, mode.Prot())
		put(fn.Flags, mode.Flags())
	} else {
		put(fn.Mode, e.Aux)
	}
	put(fn.Old, e.Old)
	ptr := e.Addr
	if fn.Kind == capture.Map && e.Kind == capture.Map {
		ptr += e.Size // the argument of brk is the new end; the event has a size only if it was the bare system call
	}
	put(fn.Ptr, ptr)
	c.PtrLost = e.Failed && fn.Ptr.From == breakpoints.Argument
	return c
}
