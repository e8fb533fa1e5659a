package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jsonKinds are the kinds of docs/json.md, with the type of their values in JSON.
var jsonKinds = map[string]func(any) bool{
	"text":     isJSON[string],
	"flag":     isJSON[bool],
	"object":   isJSON[map[string]any],
	"list":     isJSON[[]any],
	"address":  func(v any) bool { s, ok := v.(string); return ok && strings.HasPrefix(s, "0x") },
	"bytes":    isJSON[float64],
	"ns":       isJSON[float64],
	"number":   isJSON[float64],
	"a second": isJSON[float64],
}

func isJSON[T any](v any) bool { _, ok := v.(T); return ok }

// jsonTable reads the rows of docs/json.md. A key whose values are of several kinds has them
// with commas between.
func jsonTable(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	last := ""
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		if table[m[1]] != nil || m[1] < last {
			t.Errorf("docs/json.md: %s stands twice, or out of order", m[1])
		}
		last, table[m[1]] = m[1], strings.Split(m[2], ", ")
		for _, kind := range table[m[1]] {
			if jsonKinds[kind] == nil {
				t.Errorf("docs/json.md: %s: no such kind: %s", m[1], kind)
			}
		}
		for suffix, kind := range map[string]string{"_bytes": "bytes", "_ns": "ns", "_per_second": "a second", "_count": "number", "_blocks": "number"} {
			if strings.HasSuffix(m[1], suffix) && m[2] != kind && m[2] != "list" {
				t.Errorf("docs/json.md: %s is of kind %s, want %s", m[1], m[2], kind)
			}
		}
	}
	return table
}

// openKeys are keys of objects whose own keys are the program's.
var openKeys = []string{"registers"}

// TestJSONKeysOfCommands holds the keys of all objects of --json, those in the source and those that the
// tours print, against docs/json.md: a quantity has one name and one unit in all of them.
func TestJSONKeysOfCommands(t *testing.T) {
	table, found := jsonTable(t), map[string]string{}
	tag := regexp.MustCompile("`json:\"([^\",-][^\",]*)")
	for _, pattern := range []string{"*.go", "*/*.go", "../cmd/hdb/*.go", "../report/stats.go", "../report/summary.go", "../report/tree.go", "../report/timeline.go", "../report/text.go", "../report/assert.go", "../report/suppress_used.go", "../capture/event.go", "../capture/file/check.go", "../heap/*.go", "../heap/graph/*.go", "../memory/*.go", "../names/*.go", "../query/*.go", "../values/*.go", "../breakpoints/*.go", "../session/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tag.FindAllStringSubmatch(string(src), -1) {
				if !strings.HasSuffix(name, "_test.go") {
					found[m[1]] = name
				}
			}
		}
	}
	for _, key := range []string{"v", "command"} {
		found[key] = "json.go"
	}
	var walk func(command string, v any)
	walk = func(command string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(command, e)
			}
		case map[string]any:
			for key, e := range v {
				found[key] = "`" + command + "`"
				if e != nil && !slices.ContainsFunc(table[key], func(kind string) bool { return jsonKinds[kind](e) }) {
					t.Errorf("%s of `%s` is %.100s, no %s", key, command, fmt.Sprint(e), strings.Join(table[key], ", "))
				}
				if !slices.Contains(openKeys, key) {
					walk(command, e)
				}
			}
		}
	}
	objects := 0
	for _, v := range takeTours(t, func(cfg *Config) { cfg.JSON = true }) {
		for line := range strings.Lines(v.out) {
			var object map[string]any
			if line[0] != '{' {
				continue // help and other text
			}
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Errorf("%s, `%s`: %v: %.100s", v.tour, v.line, err, line)
			}
			objects++
			walk(v.line, object)
		}
	}
	if objects < 200 {
		t.Errorf("%d objects were printed", objects)
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if table[key] == nil {
			t.Errorf("%s of %s is not in docs/json.md", key, found[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if found[key] == "" {
			t.Errorf("docs/json.md: nothing prints %s", key)
		}
	}
}
