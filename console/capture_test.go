package console

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// saveLog writes a capture of n events, one in the program and one in its vDSO
// by turns, with stops if wanted.
func saveLog(t *testing.T, n int, stops ...capture.StopRecord) string {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/bin/server", PID: 12, Created: "hdb test"})
	log.AddModule(capture.Module{Path: "/bin/server", Low: 0x1000, High: 0x9000})
	log.AddModule(capture.Module{Low: 0x20000, High: 0x22000}) // hdb records the vDSO so
	log.AddThread(capture.Thread{TID: 12, Num: 1, Name: "server"})
	stacks := []capture.StackID{log.Intern(capture.Stack{PCs: []addr.Run{0x20100}}), log.Intern(capture.Stack{PCs: []addr.Run{0x1100, 0x20100}})}
	malloc := log.FuncIndex("malloc")
	for i := range n {
		log.AddEvent(&capture.Event{TID: 12, Kind: capture.Alloc, Func: malloc, Addr: 0x5000 + uint64(i)*16, Size: uint64(i*7919) % 4096, Time: time.Duration(i) * time.Millisecond, Stack: stacks[i%2]})
	}
	for _, st := range stops {
		st.Stack = stacks[1]
		log.AddStop(st)
	}
	path := filepath.Join(t.TempDir(), "c.hdb")
	if err := file.Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenSaysWhatIsSelected(t *testing.T) {
	out, errs, _ := play(t, "open "+saveLog(t, 3, capture.StopRecord{Seq: 2, Event: 2, Text: "breakpoint 1, hit 1: #2 malloc(3823)"}), "bt")
	if want := "3 events over 2.000 ms\nselected: stop 1, breakpoint 1, hit 1: #2 malloc(3823)\n#0* server+0x1100  [server]\n#1  vdso+0x20100   [vdso]\n"; !strings.HasSuffix(out, want) || errs != "" {
		t.Errorf("printed %q and %q, want the end %q", out, errs, want)
	}
	out, _, _ = play(t, "open "+saveLog(t, 3), "info sharedlibrary", "threads")
	if want := "selected: event #3 malloc(3.5 KiB) = 0x5020\n"; !strings.Contains(out, want) {
		t.Errorf("printed %q, want %q", out, want)
	}
	if !strings.Contains(out, "  [vdso]\n") || !strings.Contains(out, "   thread  tid  name\n        1   12  \"server\"\n") {
		t.Errorf("modules and threads:\n%s", out)
	}
	if out, _, _ := play(t, "open "+saveLog(t, 0)); strings.Contains(out, "selected") {
		t.Errorf("nothing is there to be selected: %q", out)
	}
}

// TestOpenDamaged flips a byte in the middle, among the events.
func TestOpenDamaged(t *testing.T) {
	path := saveLog(t, 200000)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)*3/4] ^= 0xff
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, _ := play(t, "open "+path)
	if !regexp.MustCompile(`\n[1-9][0-9]*,[0-9]{3} of 200,000 events can be read, over `).MatchString(out) {
		t.Errorf("printed %q and %q", out, errs)
	}
}
