package recording

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Bounds keep a recording small. The zero value keeps everything.
type Bounds struct {
	MaxSize   int64         // the recording ends when it takes this number of bytes
	Ring      int64         // bytes of the last events that are kept
	Last      time.Duration // that the last events which are kept span
	Aggregate bool          // sums for each stack are kept, no events
}

// Check finds bounds that contradict one another.
func (b Bounds) Check() error {
	switch {
	case b.Aggregate && b.Drops():
		return errors.New("record: --aggregate keeps no events: it cannot be combined with --ring and --last")
	case b.MaxSize > 0 && b.Drops():
		return errors.New("record: --max-size keeps the first events, --ring and --last the last: use one of them")
	}
	return nil
}

// Any tells that there are bounds.
func (b Bounds) Any() bool { return b != Bounds{} }

// Drops tells that old events are dropped.
func (b Bounds) Drops() bool { return b.Ring > 0 || b.Last > 0 }

// String are the flags that ask for the bounds.
func (b Bounds) String() string {
	var words []string
	for _, f := range []struct {
		name string
		size int64
	}{{"--max-size", b.MaxSize}, {"--ring", b.Ring}} {
		if f.size > 0 {
			words = append(words, fmt.Sprintf("%s %s", f.name, flagSize(f.size)))
		}
	}
	if b.Last > 0 {
		words = append(words, "--last "+b.Last.String())
	}
	if b.Aggregate {
		words = append(words, "--aggregate")
	}
	return strings.Join(words, " ")
}

// flagSize is a size as it would be typed.
func flagSize(n int64) string {
	unit := 0
	for unit < 4 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprint(n) + []string{"", "K", "M", "G", "T"}[unit]
}

// A BoundError says that a file cannot be kept within bounds.
type BoundError struct{ Err error }

func (e *BoundError) Error() string { return e.Err.Error() }

// Unwrap is why not.
func (e *BoundError) Unwrap() error { return e.Err }
