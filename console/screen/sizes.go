package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hdb/internal/units"
)

// Sizes is how sizes are shown: with units, or as bytes (set print sizes raw).
type Sizes struct{ Raw bool }

// Short is a size for a column: `96 B`, `612.0 MiB`.
func (s Sizes) Short(n uint64) string {
	if s.Raw {
		return strconv.FormatUint(n, 10) + " B"
	}
	return units.Short(n)
}

// Long is a size in a sentence, with its exact bytes.
func (s Sizes) Long(n uint64) string {
	if s.Raw && n != 1 {
		return strconv.FormatUint(n, 10) + " bytes"
	}
	return LongSize(n)
}

// Signed is a size for a column with its sign.
func (s Sizes) Signed(n int64) string {
	if n < 0 {
		return "-" + s.Short(uint64(-n))
	}
	return "+" + s.Short(uint64(n))
}

// Rate is Signed a second, without a +.
func (s Sizes) Rate(n float64) string { return strings.TrimPrefix(s.Signed(int64(n)), "+") + "/s" }

// Argument is a size in a call: `96`, `4 MiB`, `4.5 MiB`.
func (s Sizes) Argument(n uint64) string {
	if s.Raw || n < 1024 {
		return strconv.FormatUint(n, 10)
	}
	number, _, _ := strings.Cut(LongSize(n), " (")
	return number
}

// unitNames are the binary units; Exbibyte is the last that 64 bits reach.
const unitNames = "KMGTPE"

// LongSize is a size in a sentence, with its exact bytes: `96 bytes`,
// `4 MiB (4194304)`, `4.5 MiB (4718600)`.
func LongSize(n uint64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1024:
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := scale(n)
	number := strconv.FormatFloat(v, 'f', 1, 64)
	if v == float64(uint64(v)) {
		number = strconv.FormatUint(uint64(v), 10)
	}
	return fmt.Sprintf("%s %ciB (%d)", number, unitNames[unit], n)
}

// scale divides n by the largest unit that leaves at least 1.
func scale(n uint64) (float64, int) {
	unit, v := -1, float64(n)
	for v >= 1024 && unit < len(unitNames)-1 {
		v /= 1024
		unit++
	}
	// 1048575 bytes would print as 1024.0 KiB.
	if v >= 1023.95 && unit < len(unitNames)-1 {
		v /= 1024
		unit++
	}
	return v, unit
}

// ShortTime is a time since the inferior's start, with the digits that tell
// events apart: `2.417 s`, `812.3 ms`.
func ShortTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
