package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestManual writes the manual pages: one for each verb, in requests of man(7) alone.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if code := run([]string{"--manual", dir}, os.Stdin, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	requests := []string{".TH", ".SH", ".SS", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"}
	for _, name := range append(firstWords(), "leaks", "") {
		if name == "version" {
			continue
		}
		name = strings.TrimSuffix("hdb-"+name, "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), ".SH SYNOPSIS\n.nf\n.RS 4\nhdb ") {
			t.Errorf("%s has no synopsis", name)
		}
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			request, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if strings.HasPrefix(line, ".") && !slices.Contains(requests, request) || strings.HasPrefix(line, "'") {
				t.Errorf("%s: a request that is none: %s", page, line)
			}
		}
	}
	commands, err := os.ReadFile(filepath.Join(dir, "hdb-commands.7"))
	if err != nil || !strings.Contains(string(commands), ".SS break\n") || !strings.Contains(string(commands), ".SS print elements\n") {
		t.Errorf("hdb-commands.7 lacks break or its settings: %v", err)
	}
	if code := run([]string{"--manual", filepath.Join(dir, "none")}, os.Stdin, io.Discard, io.Discard); code != 1 {
		t.Errorf("a directory that is not there: exit code %d", code)
	}
}

// TestVersion has the number, the commit and the date of a release, and what a build without them has.
func TestVersion(t *testing.T) {
	defer func(r, c, d string) { release, commit, date = r, c, d }(release, commit, date)
	release, commit, date = "1.2.3", "0123456789abcdef", "2026-01-02"
	if got := fullVersion(); got != "hdb 1.2.3 (commit 0123456789ab, 2026-01-02)" || version() != "1.2.3" {
		t.Errorf("%q, %q", got, version())
	}
	release = ""
	if got := fullVersion(); got != "hdb devel (commit 0123456789ab, 2026-01-02)" || version() != "0123456789ab" {
		t.Errorf("%q, %q", got, version())
	}
}
