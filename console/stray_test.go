package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/outfile"
)

// saveDoubleFree writes a capture in which a block is freed twice (#2, #3), one that was
// made before the recording is freed (#4), and one of no bytes (#6).
func saveDoubleFree(t *testing.T) string {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/bin/server", PID: 12, Created: "hdb test"})
	log.AddThread(capture.Thread{TID: 12, Num: 1, Name: "server"})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	for i, e := range []capture.Event{
		{Kind: capture.Alloc, Func: malloc, Addr: 0x5000, Size: 100},
		{Kind: capture.Free, Func: free, Addr: 0x5000, Size: 100, Ended: capture.Ended{Size: 100, Recorded: true, Seq: 1}},
		{Kind: capture.Free, Func: free, Addr: 0x5000},
		{Kind: capture.Free, Func: free, Addr: 0x7000},
		{Kind: capture.Alloc, Func: malloc, Addr: 0x6000},
		{Kind: capture.Free, Func: free, Addr: 0x6000, Ended: capture.Ended{Recorded: true, Seq: 5}},
	} {
		e.TID, e.Time = 12, time.Duration(i)*time.Millisecond
		log.AddEvent(&e)
	}
	path := filepath.Join(t.TempDir(), "double.hdb")
	if err := file.Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStrayFrees: the size of what a stray free frees is not known, and it is said that it
// freed nothing.
func TestStrayFrees(t *testing.T) {
	path := saveDoubleFree(t)
	sizes := func(out string) (got []string) {
		for _, m := range regexp.MustCompile(`(?m) 1 +(\S+( B)?)  (malloc|free)\(`).FindAllStringSubmatch(out, -1) {
			got = append(got, m[1])
		}
		return got
	}
	out, _, _ := play(t, "open "+path, "allocs all")
	if got, want := sizes(out), []string{"100 B", "100 B", "?", "?", "0 B", "0 B"}; !slices.Equal(got, want) {
		t.Errorf("allocs: sizes are %q, want %q\n%s", got, want, out)
	}
	const before = "it freed no live block: 0x5000 was freed before, by #2 free(0x5000)\n"
	for line, want := range map[string]string{
		"history 0x5000": "(?: a free of no live block that was recorded)\n",
		"whence 0x5000":  before,
		"whence 0x7000":  "it freed no live block that was recorded\n",
		"goto #3":        before,
		"goto #4":        "it freed no live block that was recorded\n",
		"goto #6":        "",
		"history 0x6000": "",
	} {
		out, _, _ := play(t, "open "+path, line)
		if want == "" && (strings.Contains(out, "no live block") || strings.Contains(out, "?")) || !strings.Contains(out, want) {
			t.Errorf("%s: %q is not in\n%s", line, want, out)
		}
	}
}

// TestStrayFreesOfPrograms: neither --json nor an export has a size for them.
func TestStrayFreesOfPrograms(t *testing.T) {
	path := saveDoubleFree(t)
	sized := regexp.MustCompile(`"event":(\d+)[^{}]*"size":(\d+)`)
	for line, want := range map[string]string{
		"allocs all":     "1=100 2=100 5=0 6=0",
		"history 0x5000": "1=100 2=100",
		"whence 0x5000":  "",
		"goto #3":        "",
		"goto #6":        "6=0",
	} {
		st := newStage(t, func(c *Config) { c.JSON = true }, "open "+path, line)
		st.Run()
		var got []string
		for _, m := range sized.FindAllStringSubmatch(st.out.String(), -1) {
			got = append(got, m[1]+"="+m[2])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: sizes are %q, want %q\n%s", line, got, want, st.out.String())
		}
		if before := strings.Contains(st.out.String(), `"freed_before":2`); before != (line == "whence 0x5000" || line == "goto #3") {
			t.Errorf("%s: freed_before %v\n%s", line, before, st.out.String())
		}
	}
	st := newStage(t, func(c *Config) { c.JSON = true }, "open "+path, "goto #5", "whence 0x6000")
	st.Run()
	if want := `"command":"whence","address":"0x6000","block":"0x6000","offset":0,"size":0,`; !strings.Contains(st.out.String(), want) {
		t.Errorf("no %s in\n%s", want, st.out.String())
	}
	to := filepath.Join(t.TempDir(), "double.ndjson")
	play(t, "open "+path, "export ndjson "+to)
	b, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"kind":"free","function":"free","tid":12,"addr":"0x5000"}`,
		`"kind":"free","function":"free","tid":12,"addr":"0x6000","size":0,"ends":true`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("ndjson: no %s in\n%s", want, b)
		}
	}
}
