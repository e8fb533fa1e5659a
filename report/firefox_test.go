package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
)

// firefoxTables are the columns of the tables that the format's documentation
// lists, with what the indexes in them count through; "" are no indexes.
var firefoxTables = map[string]map[string]string{
	"stackTable":    {"frame": "frameTable", "prefix": "stackTable"},
	"frameTable":    {"address": "", "inlineDepth": "", "category": "categories", "subcategory": "", "func": "funcTable", "nativeSymbol": "nativeSymbols", "innerWindowID": "", "line": "", "column": ""},
	"funcTable":     {"isJS": "", "relevantForJS": "", "name": "stringArray", "resource": "resourceTable", "source": "sources", "lineNumber": "", "columnNumber": ""},
	"resourceTable": {"lib": "libs", "name": "stringArray", "host": "stringArray", "type": ""},
	"nativeSymbols": {"libIndex": "libs", "address": "", "name": "stringArray", "functionSize": ""},
	"sources":       {"uuid": "", "filename": "stringArray"},

	"samples":           {"weight": "", "stack": "stackTable", "time": ""},
	"nativeAllocations": {"time": "", "weight": "", "stack": "stackTable", "memoryAddress": "", "threadId": ""},
	"markers":           {"data": "", "name": "stringArray", "startTime": "", "endTime": "", "phase": "", "category": "categories"},
}

// A firefoxChecker holds a profile against the documentation: no reader of the
// format but the web site is to be had.
type firefoxChecker struct {
	t       *testing.T
	lengths map[string]int
}

func (c *firefoxChecker) table(name string, raw any) map[string][]any {
	c.t.Helper()
	table, ok := raw.(map[string]any)
	if !ok {
		c.t.Fatalf("%s is %T", name, raw)
	}
	columns := map[string][]any{}
	length := int(table["length"].(float64))
	for column, target := range firefoxTables[name] {
		values, ok := table[column].([]any)
		if !ok || len(values) != length {
			c.t.Fatalf("%s.%s has %d rows, not %d", name, column, len(values), length)
		}
		columns[column] = values
		for row, v := range values {
			i, isNumber := v.(float64)
			if target == "" || v == nil || i == -1 && column == "resource" {
				continue
			}
			limit := c.lengths[target]
			if name == target {
				limit = row // a caller comes before what it calls
			}
			if !isNumber || i < 0 || int(i) >= limit {
				c.t.Fatalf("%s.%s row %d is %v of %d", name, column, row, v, limit)
			}
		}
	}
	return columns
}

// check is the sums of the threads' samples and of all allocations.
func (c *firefoxChecker) check(text []byte) (sums []uint64, left int64, kinds string) {
	c.t.Helper()
	var profile map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&profile); err != nil {
		c.t.Fatal(err)
	}
	shared, meta := profile["shared"].(map[string]any), profile["meta"].(map[string]any)
	c.lengths = map[string]int{"libs": len(profile["libs"].([]any)), "stringArray": len(shared["stringArray"].([]any)), "categories": len(meta["categories"].([]any))}
	inShared := []string{"stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"}
	for _, name := range inShared {
		c.lengths[name] = int(shared[name].(map[string]any)["length"].(float64))
	}
	for _, name := range inShared {
		c.table(name, shared[name])
	}
	threads := profile["threads"].([]any)
	tids := map[any]bool{}
	for _, raw := range threads {
		thread := raw.(map[string]any)
		tids[thread["tid"]] = true
		samples := c.table("samples", thread["samples"])
		sum := uint64(0)
		for _, w := range samples["weight"] {
			sum += uint64(w.(float64))
		}
		sums = append(sums, sum)
		kinds += thread["samples"].(map[string]any)["weightType"].(string) + " "
		c.table("markers", thread["markers"])
		if raw, ok := thread["nativeAllocations"]; ok {
			all := c.table("nativeAllocations", raw)
			times := all["time"]
			if !slices.IsSortedFunc(times, func(a, b any) int { return int(a.(float64)*1e6) - int(b.(float64)*1e6) }) {
				c.t.Error("allocations are out of order")
			}
			for _, w := range all["weight"] {
				left += int64(w.(float64))
			}
		}
	}
	if len(tids) != len(threads) {
		c.t.Errorf("%d threads have %d IDs", len(threads), len(tids))
	}
	for _, raw := range profile["counters"].([]any) {
		samples := raw.(map[string]any)["samples"].(map[string]any)
		if n := int(samples["length"].(float64)); n != len(samples["time"].([]any)) || n != len(samples["count"].([]any)) {
			c.t.Errorf("a counter with %d samples: %v", n, samples)
		}
	}
	return sums, left, kinds
}

func TestFirefoxIsAsDocumented(t *testing.T) {
	lived, events := livedProfile()
	for i, tc := range []struct {
		p *Profile
		r *Recording
	}{{&Profile{}, nil}, {sampleProfile("/src/a.c"), nil}, {hugeProfile(200), nil}, {lived, events}} {
		events := tc.r
		if events != nil {
			events.Stack = func(id capture.StackID) Stack {
				for i := range tc.p.Stacks {
					if tc.p.Stacks[i].ID == id {
						return tc.p.Stacks[i]
					}
				}
				return Stack{}
			}
			events.Frame = func(i int) Frame { return tc.p.Frames[i] }
		}
		var b bytes.Buffer
		if err := WriteFirefox(&b, tc.p, Options{Measure: Peak, Recording: events}); err != nil {
			t.Fatal(err)
		}
		c := &firefoxChecker{t: t}
		sums, left, kinds := c.check(b.Bytes())
		total := tc.p.Total()
		want := []uint64{0, total.Live, total.Peak, total.Bytes, total.Allocs, total.Temporary, total.LiveBlocks}
		if !slices.Equal(sums, want) {
			t.Errorf("profile %d: the threads have %v, want %v", i, sums, want)
		}
		if events != nil && uint64(left) != total.Live {
			t.Errorf("profile %d: allocations leave %d bytes, not %d", i, left, total.Live)
		}
		if kinds != "samples bytes bytes bytes samples samples samples " {
			t.Errorf("profile %d: weights are %s", i, kinds)
		}
		if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `"initialSelectedThreads":[2]`) {
			t.Errorf("profile %d: %.2000s", i, b.String())
		}
	}
}

// TestFirefoxRetains follows random events: what is left of the allocations is
// what the oracle has live.
func TestFirefoxRetains(t *testing.T) {
	for seed := range uint64(5) {
		r, lives := randomRecording(seed)
		r.Stack = func(id capture.StackID) Stack { return Stack{Frames: []int{int(id)}} }
		r.Frame = func(i int) Frame { return Frame{Function: fmt.Sprint("f", i), Module: -1} }
		var b bytes.Buffer
		if err := WriteFirefox(&b, &Profile{}, Options{Recording: r}); err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for _, l := range lives {
			want += int64(l.bytes)
		}
		if _, left, _ := (&firefoxChecker{t: t}).check(b.Bytes()); left != want {
			t.Errorf("seed %d: allocations leave %d bytes, not %d", seed, left, want)
		}
	}
}

func TestBreakpadID(t *testing.T) {
	for id, want := range map[string]string{
		"":    "",
		"xyz": "",
		"f8a85d5656f1c1e4147a7fc6f4b7cad461996e56": "565DA8F8F156E4C1147A7FC6F4B7CAD40",
		"0102": "000002010000000000000000000000000",
	} {
		if got := breakpadID(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
