// Package units words sizes, shares, counts and times for people, in one way wherever they are printed:
//
//   - A size has one decimal from 1 KiB on: 4.0 MiB. In a sentence its exact bytes follow, which are never
//     grouped, so that they can be typed: 4.0 MiB (4194304).
//   - The size in a call or a condition has no decimal if it is exact: malloc(4 MiB), but malloc(4.5 MiB) and,
//     of a byte more than 4 MiB, malloc(4.0 MiB).
//   - A share has one decimal and a blank before its sign: 12.5 %. One that is not zero is never 0.0 %.
//   - Counts have their thousands separated, and a noun that agrees: 1 block, 2,310 blocks, +1 block.
//   - A time has three decimals, in milliseconds below a second: 812.300 ms, 2.417 s.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Sizes is how sizes are shown: with units, or as bytes (set print sizes raw).
type Sizes struct{ Raw bool }

// Short is a size for a column: `96 B`, `612.0 MiB`.
func (s Sizes) Short(n uint64) string {
	if s.Raw || n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	v, unit := float64(n), -1
	for v >= 1023.95 && unit < 5 { // 1024.0 KiB is printed as 1.0 MiB
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[unit])
}

// Long is a size for a sentence, with its exact bytes: `96 bytes`, `612.0 MiB (641728512)`.
func (s Sizes) Long(n uint64) string {
	switch {
	case n == 1:
		return "1 byte"
	case s.Raw || n < 1024:
		return strconv.FormatUint(n, 10) + " bytes"
	}
	return fmt.Sprintf("%s (%d)", s.Short(n), n)
}

// Blocks is the size of a number of blocks for a sentence: `96 bytes in 2 blocks`.
func Blocks[T integer](s Sizes, bytes uint64, blocks T) string {
	return s.Long(bytes) + " in " + Count(blocks, "block")
}

// Signed is a change of a size for a column: `+4.0 MiB`.
func (s Sizes) Signed(n int64) string { return signed(n, s.Short) }

// Rate is Signed a second, without a +.
func (s Sizes) Rate(n float64) string { return strings.TrimPrefix(s.Signed(int64(n)), "+") + "/s" }

// Argument is a size in a call: `96`, `4 MiB`, `4.5 MiB`.
func (s Sizes) Argument(n uint64) string {
	if s.Raw || n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	number, unit, _ := strings.Cut(s.Short(n), " ")
	if whole, ok := strings.CutSuffix(number, ".0"); ok && exact(n) {
		number = whole
	}
	return number + " " + unit
}

// exact reports whether n, of 1 KiB or more, is a whole number of the largest unit in it.
func exact(n uint64) bool {
	for n >= 1024 {
		if n%1024 != 0 {
			return false
		}
		n /= 1024
	}
	return true
}

// Short is a size for a column, with its unit.
func Short[T integer](n T) string { return Sizes{}.Short(uint64(n)) }

// Percent is a share of a whole: `12.5 %`, `<0.1 %`.
func Percent[T integer](part, whole T) string { return PercentCell(part, whole) + " %" }

// PercentCell is Percent in a column whose head has the sign.
func PercentCell[T integer](part, whole T) string {
	v := 100 * Share(part, whole)
	if part > 0 && v < 0.05 {
		return "<0.1"
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Share is a part of a whole, 0 to 1, and 0 of nothing.
func Share[T integer](part, whole T) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// integer is a type of counts.
type integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// Grouped is a count with its thousands separated: `1,204,118`.
func Grouped[T integer](n T) string {
	digits, first := fmt.Sprint(n), 0
	if digits[0] == '-' {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Signed is a change of a count: `+1,204`, `-3`, `+0`.
func Signed(n int64) string { return signed(n, Grouped[uint64]) }

func signed(n int64, text func(uint64) string) string {
	if n < 0 {
		return "-" + text(-uint64(n))
	}
	return "+" + text(uint64(n))
}

// Count is a count with its noun: `1 event`, `2,310 stacks`.
func Count[T integer](n T, noun string) string { return Grouped(n) + " " + agreed(n == 1, noun) }

// Change is a change of a count with its noun: `+1 block`, `-2 blocks`.
func Change(n int64, noun string) string { return Signed(n) + " " + agreed(n == 1 || n == -1, noun) }

func agreed(one bool, noun string) string {
	if one {
		return noun
	}
	return noun + "s"
}

// CountVerb is a count with its noun and the verb for one or for more: `1 event is`, `2,310 stacks are`.
func CountVerb[T integer](n T, noun, one, more string) string {
	if n == 1 {
		return Count(n, noun) + " " + one
	}
	return Count(n, noun) + " " + more
}

// PerSecond is a number a second, of a column or a sentence: `12.5`, `1,204`.
func PerSecond(n float64) string {
	if math.Abs(n) >= 100 {
		return Grouped(int64(math.Round(n)))
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// Time is a time since the start: `812.300 ms`, `2.417 s`.
func Time(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f s", d.Seconds())
}

// Clock is the time that has passed, for a screen that shows it as it passes: `12.3 s`, `1h2m3s`.
func Clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
