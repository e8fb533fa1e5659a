package testprogs

import (
	"context"
	"testing"
	"time"
)

// reserve is what a test needs to say what it waited for before go
// test ends it.
const reserve = 20 * time.Second

// Deadline returns when a test gives up waiting for what will come on any
// machine: shortly before go test's own limit, as a busy machine may take that
// long. It is ten minutes from now when there is no limit.
func Deadline(t testing.TB) time.Time {
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			return end.Add(-reserve)
		}
	}
	return time.Now().Add(10 * time.Minute)
}

// Context is the test's context with its Deadline.
func Context(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithDeadline(t.Context(), Deadline(t))
}
