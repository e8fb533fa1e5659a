package cond

import (
	"math/bits"
	"strconv"
	"strings"
)

// A unitSystem maps lower-case suffixes to their factors.
type unitSystem struct {
	factors map[string]uint64
	known   string // for an error message
	whole   string // what a value must be
}

// sizes are bytes: a bare letter and the forms with an i are powers of 1024,
// those with a b alone powers of 1000.
var sizes = unitSystem{
	factors: map[string]uint64{
		"": 1, "b": 1,
		"k": 1 << 10, "ki": 1 << 10, "kib": 1 << 10, "kb": 1e3,
		"m": 1 << 20, "mi": 1 << 20, "mib": 1 << 20, "mb": 1e6,
		"g": 1 << 30, "gi": 1 << 30, "gib": 1 << 30, "gb": 1e9,
		"t": 1 << 40, "ti": 1 << 40, "tib": 1 << 40, "tb": 1e12,
	},
	known: "units: k, M, G, T, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
	whole: "a whole number of bytes",
}

// counts are everything else, in powers of 1000.
var counts = unitSystem{
	factors: map[string]uint64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12},
	known:   "units of a count: k, M, G, T",
	whole:   "a whole number",
}

// unitsOf is how numbers that are compared with the field are written.
func unitsOf(f Field) *unitSystem {
	switch f {
	case Thread, Nth, Blocks, Count, Goroutine:
		return &counts
	}
	return &sizes
}

// ParseSize reads a size as conditions write it: 64k, 1.5MiB, 0x1000.
func ParseSize(s string) (uint64, error) { return parse(s, &sizes) }

// ParseCount reads a count as conditions write it: 20k is 20,000.
func ParseCount(s string) (uint64, error) { return parse(s, &counts) }

func parse(s string, units *unitSystem) (uint64, error) {
	v, bad := parseNumber(s, units)
	if bad != "" {
		return 0, &Error{Src: s, Col: 1, Msg: bad}
	}
	return v, nil
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '_'
}

// parseNumber returns the value, or what is wrong.
func parseNumber(s string, units *unitSystem) (v uint64, bad string) {
	if len(s) > 1 && strings.EqualFold(s[:2], "0x") {
		hex := s[2:]
		n := span(hex, "0123456789abcdefABCDEF_")
		return units.scale(s, hex[:n], "", hex[n:], 16)
	}
	n := span(s, "0123456789_")
	if n == 0 && !strings.HasPrefix(s, ".") {
		return 0, strconv.Quote(s) + " is not a number"
	}
	whole, unit, fraction := s[:n], s[n:], ""
	if strings.HasPrefix(unit, ".") {
		f := 1 + span(unit[1:], "0123456789")
		fraction, unit = unit[1:f], unit[f:]
		if fraction == "" {
			return 0, strconv.Quote(s) + " has no digits after the point"
		}
	}
	return units.scale(s, whole, fraction, unit, 10)
}

// span is the length of the run of chars that s begins with.
func span(s, chars string) int {
	return len(s) - len(strings.TrimLeft(s, chars))
}

// scale computes (whole + 0.fraction) * unit, which must be a whole number of 64 bits.
func (u *unitSystem) scale(s, whole, fraction, unit string, base int) (v uint64, bad string) {
	factor, ok := u.factors[strings.ToLower(unit)]
	if !ok {
		return 0, "unknown unit " + strconv.Quote(unit) + " in " + strconv.Quote(s) + " (" + u.known + ")"
	}
	w, err := strconv.ParseUint(strings.ReplaceAll(whole, "_", ""), base, 64)
	if err != nil {
		if strings.Trim(whole, "_") == "" {
			return 0, strconv.Quote(s) + " is not a number"
		}
		return 0, s + " does not fit in 64 bits"
	}
	hi, lo := bits.Mul64(w, factor)
	part, bad := u.fraction(s, fraction, factor)
	if bad != "" {
		return 0, bad
	}
	sum, carry := bits.Add64(lo, part, 0)
	if hi+carry != 0 {
		return 0, s + " does not fit in 64 bits"
	}
	return sum, ""
}

// fraction is 0.digits * factor.
func (u *unitSystem) fraction(s, digits string, factor uint64) (uint64, string) {
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return 0, ""
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || len(digits) > 18 {
		return 0, s + " has too many digits after the point"
	}
	power := uint64(1)
	for range digits {
		power *= 10
	}
	hi, lo := bits.Mul64(n, factor) // hi < power, because n < power
	quotient, rest := bits.Div64(hi, lo, power)
	if rest != 0 {
		return 0, s + " is not " + u.whole
	}
	return quotient, ""
}

// formatNumber prints v as conditions on f write it: addresses in hexadecimal, sizes in the largest
// binary unit that divides them, the rest in decimal.
func formatNumber(f Field, v uint64) string {
	switch f {
	case Addr, Old:
		return "0x" + strconv.FormatUint(v, 16)
	case Size, Live, Align:
		for _, u := range []struct {
			shift uint
			name  string
		}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
			if v != 0 && v&(1<<u.shift-1) == 0 {
				return strconv.FormatUint(v>>u.shift, 10) + u.name
			}
		}
	}
	return strconv.FormatUint(v, 10)
}
