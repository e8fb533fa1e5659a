package desk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/flags"
	"hdb/recording"
	"hdb/session/view"
)

// BoundFlags is help on the flags of record start and hdb record that keep a
// recording small.
const BoundFlags = `  --max-size SIZE
                  end the recording at SIZE or more (64M, 2G), then let the program
                  run on. The size is checked about every 65,536 events, so at least that
                  many are recorded; the names of functions add to the size
  --ring SIZE     keep only the last SIZE of events; --last D the events of the last D.
                  Events are dropped some ten thousand at a time, so the result may be
                  somewhat larger. Blocks allocated before the kept events are unknown in
                  it. The file system must support sparse files, as do ext4, xfs, btrfs
                  and tmpfs
  --aggregate     keep totals for each stack and no events: small however long the
                  program runs; top, leaks, diff and reports work, allocs and goto do not
`

// ParseBound is what reads the value of a flag of BoundFlags, nil if there is none of
// that name that takes a value.
func ParseBound(b *recording.Bounds, name string) func(string) error {
	switch name {
	case "last":
		return ParseDuration(&b.Last)
	case "ring":
		return parseBytes(&b.Ring)
	case "max-size":
		return parseBytes(&b.MaxSize)
	}
	return nil
}

// ParseDuration takes a Go duration, or a number of seconds as sleep does.
func ParseDuration(p *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if seconds, e := strconv.ParseFloat(s, 64); e == nil {
			d, err = time.Duration(seconds*float64(time.Second)), nil
		}
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not a duration like 10s or 5m", s)
		}
		*p = d
		return nil
	}
}

// parseBytes reads a size: bytes, or with K, M, G or T behind, of 1024 each.
func parseBytes(p *int64) func(string) error {
	return func(s string) error {
		number := strings.ToUpper(strings.TrimSpace(s))
		number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "I")
		shift := 0
		if n := len(number); n > 0 {
			if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
				number, shift = number[:n-1], 10*(i+1)
			}
		}
		v, err := strconv.ParseFloat(number, 64)
		size := v * float64(int64(1)<<shift)
		if err != nil || !(size >= 1) || size > 1<<60 {
			return fmt.Errorf("%q is not a size like 64M or 2G", s)
		}
		*p = int64(size)
		return nil
	}
}

// PausedFlag is help on the flag of record start and hdb record that leaves it to the program
// when events are recorded.
const PausedFlag = `  --paused        record nothing until the program calls HDB_RESUME() or
                  hdb_mark.record() (docs/annotations.md), or until record resume
`

// PythonFlag is help on the flag of record start and hdb record for CPython.
const PythonFlag = `  --python-allocators
                  also record calls of CPython's own allocators, PyObject_Malloc and the
                  like, whose arenas hide blocks of up to 512 bytes
`

// startFlags are those of record start other than the bounds.
type startFlags struct {
	Python bool // CPython's own allocators are wanted, too
	Paused bool // the recording begins paused
}

// ParseBounds reads the words behind record start.
func ParseBounds(words []string) (b recording.Bounds, more startFlags, err error) {
	rest, err := flags.All(words, func(name string) flags.Flag {
		switch name {
		case "aggregate":
			return flags.On(&b.Aggregate)
		case "python-allocators":
			return flags.On(&more.Python)
		case "paused":
			return flags.On(&more.Paused)
		}
		return flags.Value(ParseBound(&b, name))
	})
	switch {
	case err != nil:
		return b, more, fmt.Errorf("record start: %w", err)
	case len(rest) > 0:
		return b, more, fmt.Errorf("record start: %q: a flag like --ring expected", rest[0])
	}
	return b, more, b.Check()
}

// CountOf reads a count, which fits in an int: 99, or 20k for 20,000.
func CountOf(word string) (n uint64, ok bool) {
	n, err := cond.ParseCount(word)
	return n, err == nil && n <= math.MaxInt
}

// CountAndCondition reads `[N] [if CONDITION]`; without N it is 0. Errors in the
// condition count columns from its first character on.
func CountAndCondition(in shell.Input) (n int, condition *cond.Cond, err error) {
	word, rest := shell.SplitWord(in.Raw)
	if word != "" && word != "if" {
		count, ok := CountOf(word)
		if !ok || count == 0 {
			return 0, nil, fmt.Errorf("%s: %q: a number or `if CONDITION` expected", in.Name, word)
		}
		n = int(count)
		word, rest = shell.SplitWord(rest)
	}
	switch {
	case word == "":
		return n, nil, nil
	case word != "if":
		return 0, nil, fmt.Errorf("%s: %q: `if CONDITION` expected", in.Name, word)
	case strings.TrimSpace(rest) == "":
		return 0, nil, fmt.Errorf("%s: the condition is missing", in.Name)
	}
	if condition, err = cond.Parse(rest); err != nil {
		err = fmt.Errorf("condition: %w", err)
	}
	return n, condition, err
}

// PlaceText is a stop's place as the screen shows it.
func PlaceText(p breakpoints.Place) string {
	p.File, p.Function = screen.ShortPath(p.File), screen.ShortName(p.Function)
	return view.PlaceText(p)
}

// AsWord is how a name is typed as one word.
func AsWord(name string) string {
	if strings.ContainsAny(name, " \t'\"") {
		return shell.QuoteArg(name)
	}
	return name
}
