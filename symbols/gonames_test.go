package symbols

import (
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestGoNames has a stripped program name functions that it has only inlined, and its source files.
func TestGoNames(t *testing.T) {
	full, err := Open(testprogs.Build(t, "golang"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Open(testprogs.Build(t, "golang", "-ldflags=-s -w"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if list := o.FindFunctions("fmt.Println"); len(list) > 0 {
		t.Fatalf("fmt.Println has code of its own: %+v", list)
	}
	for name, want := range map[string]bool{
		"fmt.Println": true, "Println": true, "main.main": true, "sync.(*WaitGroup).Done": true, "WaitGroup.Done": true,
		"fmt.Printlm": false, "ntln": false, "main.Println": false, "": false,
	} {
		if got := o.GoNames(name); got != want {
			t.Errorf("%q is named: %v, want %v", name, got, want)
		}
	}
	files, all := o.SourceFiles(), full.SourceFiles()
	if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/golang.go") }) || len(files) < 100 {
		t.Errorf("%d source files: %.3q", len(files), files)
	}
	for _, f := range files {
		if !slices.Contains(all, f) {
			t.Errorf("%s is not in the debug information", f)
		}
	}
}
