package inferior

import "hdb/internal/addr"

// A Goroutine is one of a Go program, as delve knows it.
type Goroutine struct {
	ID         int64
	TID        int    // the thread that runs it, 0 if none
	Status     string // "running", "waiting"
	WaitReason string // "chan receive"
	PC         addr.Run
	Function   string // where the user's code stands
	File       string
	Line       int
}
