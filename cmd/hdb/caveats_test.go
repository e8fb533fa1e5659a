package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/report"
	"hdb/testprogs/unsure"
)

// drawn are command lines that print numbers drawn from a capture, IN, by their verbs.
// What is written goes below OUT.
func drawn() map[string][]string {
	all := map[string][]string{
		"assert": {"assert --max-allocs 1e9 IN", "assert --no-leaks --allow-incomplete IN"},
		"stats":  {"stats IN", "stats --json IN"}, "summary": {"summary IN", "summary --json IN"}, "tree": {"tree IN", "tree --json IN"},
		"timeline": {"timeline IN", "timeline --json IN", "timeline -o OUT.html IN"}, "table": {"table IN", "table -o OUT.table.html IN"},
		"doctor": {"doctor IN", "doctor --json IN"}, "flamegraph": {"flamegraph -o OUT.flame.html IN"},
		"capture": {
			"capture info IN", "capture info --json IN", "capture check IN", "capture repair IN -o OUT.repaired", "capture trim IN --to 50% -o OUT.trimmed",
			"capture merge IN IN -o OUT.merged", "capture anonymize IN -o OUT.anonymized",
		},
	}
	for _, f := range report.Formats() {
		all["export"] = append(all["export"], "export "+f.Name+" -o OUT."+f.Name+" IN")
	}
	return all
}

// TestCaveatsOfVerbs has each verb that prints a number drawn from a capture say what
// makes it less sure. A new verb has to be in one of the lists.
func TestCaveatsOfVerbs(t *testing.T) {
	undrawn := []string{"record", "live", "py", "header", "python-module", "completion"} // about what is being recorded, a process, and files for programs and shells
	draws := drawn()
	for word := range verbs() {
		if _, ok := draws[word]; ok == slices.Contains(undrawn, word) {
			t.Errorf("hdb %s: does it print numbers drawn from a capture? %v", word, ok)
		}
	}
	for _, c := range unsure.Captures(t) {
		dir := t.TempDir()
		for _, word := range slices.Sorted(maps.Keys(draws)) {
			for _, line := range draws[word] {
				words := strings.Fields(line)
				for i, w := range words {
					if w == "IN" {
						words[i] = c.Path
					} else if rest, ok := strings.CutPrefix(w, "OUT"); ok {
						words[i] = filepath.Join(dir, "out") + rest
					}
				}
				var out, errw bytes.Buffer
				code := run(words, os.Stdin, &out, &errw)
				got := strings.Join(strings.Fields(out.String()+errw.String()), " ")
				got = strings.ReplaceAll(got, `\u003e`, ">")
				switch { // rows and fields of their own
				case word == "capture" && c.Name == "losses", word == "stats" && c.Name == "losses":
					got = strings.NewReplacer("1,234 calls", c.Says, `"lost_events":1234`, c.Says, `"count":1234`, c.Says).Replace(got)
				case word == "capture" && c.Name == "damage":
					got = strings.NewReplacer("damage none", "", `"damage":""`, "", "damage", c.Says, "damaged", c.Says, "checksum", c.Says).Replace(got)
				}
				if !strings.Contains(got, c.Says) {
					t.Errorf("hdb %s of the capture with %s: exit %d: does not say %q:\n%s%s", line, c.Name, code, c.Says, &out, &errw)
				}
			}
		}
	}
}
