package names

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/symbols"
)

// TestFileWithoutGoBuildID says of a file in the place of a Go program that it has no build ID of Go.
func TestFileWithoutGoBuildID(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "other.c"), filepath.Join(dir, "other")
	if err := os.WriteFile(source, []byte("int other;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "gcc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", path, source)
	obj, err := symbols.Open(path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	err = new(opened).sameFile(obj, path, capture.Module{Path: path, GoBuildID: "abc/def"})
	if want := path + ": no Go build ID, the capture has Go build ID abc/def: not used"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
