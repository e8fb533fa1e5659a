// Package units words sizes, counts and times for people.
package units

import (
	"fmt"
	"strconv"
	"time"
)

// Short is a size for a column: `96 B`, `612.0 MiB`.
func Short(n uint64) string {
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	v, unit := float64(n), -1
	for v >= 1023.95 && unit < 5 { // 1024.0 KiB is printed as 1.0 MiB
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[unit])
}

// Long is a size for a sentence, with its exact bytes: `96 bytes`,
// `612.0 MiB (641728512)`.
func Long(n uint64) string {
	if n < 1024 {
		return Count(n, "byte")
	}
	return fmt.Sprintf("%s (%d)", Short(n), n)
}

// integer is a type of counts.
type integer interface{ ~int | ~int64 | ~uint64 }

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

// Count is a count with its noun: `1 event`, `2,310 stacks`.
func Count[T integer](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// CountVerb is a count with its noun and the verb for one or for more: `1 event is`, `2,310 stacks are`.
func CountVerb[T integer](n T, noun, one, more string) string {
	if n == 1 {
		return Count(n, noun) + " " + one
	}
	return Count(n, noun) + " " + more
}

// Time is a time since the start: `812.300 ms`, `2.417 s`.
func Time(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f s", d.Seconds())
}
