package testprogs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAnonymized holds the reports of an anonymized capture against those of the capture: names differ,
// numbers do not, because what is a runtime's or a library's is known by names that stay.
func TestAnonymized(t *testing.T) {
	script := filepath.Join(t.TempDir(), "grow_secretly.py")
	if err := os.WriteFile(script, []byte("import json\nkept = [json.dumps({'a': i}) for i in range(20000)]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string][]string{
		"C++": {Build(t, "demo")}, "C": {Build(t, "mappedpeak")}, "wrappers": {Build(t, "wrapped")}, "static": {Build(t, "static")},
		"Rust": {Build(t, "rust")}, "Go": {Build(t, "golang")}, "Python": {"/usr/bin/python3", script},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, made := filepath.Join(dir, "a.hdb"), filepath.Join(dir, "b.hdb")
			if out, err := exec.Command(HDB(t), append([]string{"-nx", "record", "-o", file}, program...)...).CombinedOutput(); !exists(file) {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := exec.Command(HDB(t), "capture", "anonymize", file, "-o", made).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, command := range []string{"live", "top 1000 by bytes", "top 1000 peak", "top 1000 per line", "leaks"} {
				want, got := reportNumbers(t, command, file), reportNumbers(t, command, made)
				if !slices.Equal(got, want) {
					t.Errorf("%s: numbers differ\n%s\nwant\n%s", command, strings.Join(got, " "), strings.Join(want, " "))
				}
				if len(want) < 2 {
					t.Errorf("%s: %d numbers", command, len(want))
				}
			}
			b, err := exec.Command(HDB(t), "-nx", "-batch", "--json", "-ex", "info stacks", "-ex", "top /1000", made).CombinedOutput()
			for _, secret := range []string{"secretly", filepath.Base(program[0])} {
				if strings.Contains(string(b), secret) && secret != "python3" {
					t.Errorf("%s is still there (%v)\n%s", secret, err, b)
				}
			}
		})
	}
}

// exists reports whether a file was written: hdb's exit code may be the program's.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var numberOfJSON = regexp.MustCompile(`: ?(-?[0-9][0-9.e+-]*)`)

// reportNumbers are the numbers of a report in JSON, sorted: rows of the same size may be in another order.
func reportNumbers(t *testing.T, command, file string) (all []string) {
	t.Helper()
	out, err := exec.Command(HDB(t), "-nx", "-batch", "--json", "-ex", command, file).Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	for _, m := range numberOfJSON.FindAllSubmatch(out, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return all
}
