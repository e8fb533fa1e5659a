package printers

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"hdb/internal/lazyregexp"
	"hdb/values"
)

// ratioName is the name of a std::ratio. Compilers differ in the suffixes of numbers.
var ratioName = lazyregexp.New(`^std::(?:__(?:ndk)?[0-9]+::)?ratio<([0-9]+)[lL]*, ?([0-9]+)[lL]*>$`)

// units are the suffixes of durations, as in std::chrono's literals and operator<<.
var units = map[string]string{
	"1/1000000000000000000": "as", "1/1000000000000000": "fs", "1/1000000000000": "ps", "1/1000000000": "ns", "1/1000000": "us", "1/1000": "ms", "1/100": "cs", "1/10": "ds",
	"1/1": "s", "10/1": "das", "100/1": "hs", "1000/1": "ks", "1000000/1": "Ms", "1000000000/1": "Gs", "1000000000000/1": "Ts", "1000000000000000/1": "Ps", "1000000000000000000/1": "Es",
	"60/1": "min", "3600/1": "h", "86400/1": "d",
}

// A period is the unit of a duration in seconds.
type period struct{ num, den string }

func (p period) unit() string {
	if u := units[p.num+"/"+p.den]; u != "" {
		return u
	}
	if p.den == "1" {
		return "[" + p.num + "]s"
	}
	return "[" + p.num + "/" + p.den + "]s"
}

// ticks is the number in a duration and its unit.
func ticks(r *values.Reader, v values.Value) (values.Value, period, bool) {
	n, ok := packed(r, v, "__r", "__rep_")
	p := v.Type.Strip().TemplateType("_Period")
	if !ok || p == nil {
		return values.Value{}, period{}, false
	}
	m := ratioName().FindStringSubmatch(p.Strip().Name)
	if m == nil {
		return values.Value{}, period{}, false
	}
	return n, period{m[1], m[2]}, true
}

func duration(r *values.Reader, v values.Value) (values.Display, bool) {
	n, p, ok := ticks(r, v)
	return values.Display{Head: "std::chrono::duration = { ", Value: &n, Tail: p.unit() + " }"}, ok
}

// timePoint describes a point in time. For the clocks with a known epoch it has the date.
func timePoint(r *values.Reader, v values.Value) (values.Display, bool) {
	d, ok := packed(r, v, "__d", "__d_")
	clock := v.Type.Strip().TemplateType("_Clock")
	if !ok || clock == nil {
		return values.Display{}, false
	}
	n, p, ok := ticks(r, d)
	if !ok {
		return values.Display{}, false
	}
	name := inlineNamespace().ReplaceAllString(clock.Strip().Name, "std::")
	name = strings.Replace(name, "::_V2::", "::", 1)
	head, tail := name+" time_point", p.unit()
	if name == "std::chrono::system_clock" {
		head = "std::chrono::sys_time"
		if ticks, err := r.Uint(n); err == nil && n.Type.Strip().Kind == values.Base {
			tail += date(int64(ticks), p)
		}
	}
	return values.Display{Head: head + " = { ", Value: &n, Tail: tail + " }"}, true
}

// date is the date of a number of ticks after 1970, "" if it has none.
func date(n int64, p period) string {
	num, ok := new(big.Int).SetString(p.num, 10)
	den, ok1 := new(big.Int).SetString(p.den, 10)
	if !ok || !ok1 || den.Sign() == 0 {
		return ""
	}
	sec := new(big.Int).Mul(big.NewInt(n), num)
	sec.Div(sec, den)
	if !sec.IsInt64() {
		return ""
	}
	t := time.Unix(sec.Int64(), 0).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return fmt.Sprintf(" [%s]", t.Format("2006-01-02 15:04:05"))
}

// durationCount is the number that count() of a duration gives.
func durationCount(r *values.Reader, v values.Value, name string) (values.Value, error, bool) {
	if name != "count" {
		return values.Value{}, nil, false
	}
	n, _, ok := ticks(r, v)
	return n, nil, ok
}
