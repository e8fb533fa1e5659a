package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/symbols"
)

func TestScriptHints(t *testing.T) {
	shims := filepath.Join(t.TempDir(), ".pyenv", "shims")
	if err := os.MkdirAll(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(shims, "python3")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env bash\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := "hdb --args $(pyenv which python3) ARGUMENTS"
	if err := explainForeign(path, symbols.ErrNotELF); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want the end %q", err, want)
	}
}
