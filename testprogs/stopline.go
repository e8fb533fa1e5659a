package testprogs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// StopLine is the line of a source file that ends with the comment stop, as FILE:LINE.
func StopLine(t testing.TB, source string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(text), "\n") {
		if strings.Contains(l, "/* stop */") || strings.Contains(l, "// stop") {
			return fmt.Sprintf("%s:%d", filepath.Base(source), i+1)
		}
	}
	t.Fatalf("%s has no line marked stop", source)
	return ""
}
