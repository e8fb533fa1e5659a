package main

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/testprogs"
)

// faultyScreen panics at the first thing that is said, and keeps the rest.
type faultyScreen struct {
	bytes.Buffer
	panicked bool
}

func (f *faultyScreen) Write(b []byte) (int, error) {
	if !f.panicked {
		f.panicked = true
		panic("the screen is at fault")
	}
	return f.Buffer.Write(b)
}

// A panic in the midst of a recording is said, with its stack, and is an exit code; the file
// is complete first, and the program runs to its end.
func TestRecordPanics(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out := filepath.Join(t.TempDir(), "panic.hdb")
	o, err := parseFlags([]string{"record", "-o", out, testprogs.Build(t, "fork")})
	if err != nil {
		t.Fatal(err)
	}
	var screen faultyScreen // at fault when the fork is told
	if code := record(o, &bytes.Buffer{}, &screen); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"error: internal error: the screen is at fault", "faultyScreen).Write", "runs on"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("%q is not in\n%s", want, screen.String())
		}
	}
	f, err := file.OpenWhole(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Check(); err != nil || len(f.Verify()) > 0 || f.Len() == 0 {
		t.Errorf("%d events, %v, %q", f.Len(), err, f.Verify())
	}
	if why := f.Info().Partial; !why.Has(capture.Failed) {
		t.Errorf("reasons %q", why)
	}
}
