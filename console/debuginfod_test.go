package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hdb/console/data"
	"hdb/names"
	"hdb/testprogs"
)

const missingID = "00112233445566778899aabbccddeeff00112233"

// servers are an environment with one server, which has nothing.
func servers(t *testing.T, st *stage) *atomic.Int32 {
	t.Helper()
	asked := &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	st.env["DEBUGINFOD_URLS"] = s.URL
	st.env["DEBUGINFOD_CACHE_PATH"] = t.TempDir()
	return asked
}

func TestDebuginfodBegins(t *testing.T) {
	for _, tc := range []struct {
		name          string
		person, batch bool
		urls          bool
		want          string
	}{
		{"at a terminal", true, false, true, "ask"},
		{"without servers", true, false, false, "off"},
		{"in a script", false, false, true, "off"},
		{"in batch mode", true, true, true, "off"},
	} {
		st := newStage(t, nil)
		if tc.urls {
			servers(t, st)
		}
		st.in.person, st.Desk.Opt.Batch = tc.person, tc.batch
		data.StartDebuginfod(st.Desk)
		if got := st.Set.Value("debuginfod"); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestDebuginfodAsks answers the question, which comes once, before a prompt, and when
// a file was missing.
func TestDebuginfodAsks(t *testing.T) {
	const question = "Ask them in this session? (y or n) "
	for _, tc := range []struct {
		answer, confirm, mode string
		questions             int
	}{
		{"y", "on", "on", 1}, {"yes", "on", "on", 1}, {"n", "on", "off", 1}, {"", "on", "off", 1}, {"^C", "on", "off", 1}, {"y", "off", "off", 0},
	} {
		st := newStage(t, nil, tc.answer)
		asked := servers(t, st)
		st.in.person = true
		data.StartDebuginfod(st.Desk)
		st.Top("set confirm " + tc.confirm)
		data.AskDebuginfod(st.Desk) // nothing is missing yet
		if _, err := st.Session.Names().Debuginfod.DebugInfo(missingID); err == nil {
			t.Error("there is such a file")
		}
		if len(st.in.prompts) != 0 || asked.Load() != 0 {
			t.Errorf("%+v: too early: %q, asked %d times", tc, st.in.prompts, asked.Load())
		}
		data.AskDebuginfod(st.Desk)
		_, _ = st.Session.Names().Debuginfod.DebugInfo(missingID)
		data.AskDebuginfod(st.Desk)
		if got := st.Set.Value("debuginfod"); got != tc.mode || len(st.in.prompts) != tc.questions || tc.questions == 1 && st.in.prompts[0] != question {
			t.Errorf("%+v: %s after %q", tc, got, st.in.prompts)
		}
		if tc.questions == 1 && !strings.Contains(st.out.String()+st.err.String(), st.env["DEBUGINFOD_URLS"]) {
			t.Errorf("%+v: the server is not named: %q", tc, st.out.String())
		}
		for end := time.Now().Add(10 * time.Second); tc.mode == "on" && asked.Load() == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // in the background
		}
		st.Session.Close()
		if (asked.Load() > 0) != (tc.mode == "on") {
			t.Errorf("%+v: asked %d times", tc, asked.Load())
		}
	}
}

func TestDebuginfodWithoutTerminal(t *testing.T) {
	st := newStage(t, nil, "set debuginfod ask", "show debuginfod", "set debuginfod of", "info debuginfod")
	asked := servers(t, st)
	data.StartDebuginfod(st.Desk)
	st.Session.Symbols.SetDebuginfod(names.DebuginfodAsk)
	_, _ = st.Session.Names().Debuginfod.DebugInfo(missingID)
	st.Run()
	for _, p := range st.in.prompts {
		if strings.Contains(p, "Ask them") {
			t.Errorf("asked %q", p)
		}
	}
	if asked.Load() != 0 || !strings.HasPrefix(st.out.String(), "debuginfod is ask\ndebuginfod is off; files are kept in ") {
		t.Errorf("asked %d times, printed %q and %q", asked.Load(), st.out.String(), st.err.String())
	}
}

func TestInfoDebuginfod(t *testing.T) {
	out, errs, _ := play(t, "info debuginfod", "set debuginfod on")
	if out != "debuginfod is off; DEBUGINFOD_URLS names no server\n" || errs != "debuginfod: no server to ask: set DEBUGINFOD_URLS\n" {
		t.Errorf("printed %q and %q", out, errs)
	}
	st := newStage(t, nil, "info debuginfod")
	asked := servers(t, st)
	data.StartDebuginfod(st.Desk)
	st.Session.Symbols.SetDebuginfod(names.DebuginfodOn)
	if _, err := st.Session.Names().Debuginfod.DebugInfo(missingID); err == nil || asked.Load() != 1 {
		t.Errorf("error %v, asked %d times", err, asked.Load())
	}
	st.Run()
	for _, want := range []string{"debuginfod is on; files are kept in ", st.env["DEBUGINFOD_URLS"], "001122334455  debug info  debuginfod: debuginfo of build ID " + missingID + ": no server has it"} {
		if !strings.Contains(st.out.String(), want) {
			t.Errorf("printed %q, want %q", st.out.String(), want)
		}
	}
	if _, words := st.Completions("set debuginfod o"); !slices.Equal(words, []string{"off", "on"}) {
		t.Errorf("completes to %q", words)
	}
}

// TestRefreshTellsWhatIsComing asks while a server is still sending.
func TestRefreshTellsWhatIsComing(t *testing.T) {
	st := newStage(t, nil, "file "+testprogs.Build(t, "basic"), "symbols refresh")
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.(http.Flusher).Flush()
		<-release
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) }) // before Close, which waits
	st.env["DEBUGINFOD_URLS"], st.env["DEBUGINFOD_CACHE_PATH"] = s.URL, t.TempDir()
	st.in.person = true
	data.StartDebuginfod(st.Desk)
	st.Session.Symbols.SetDebuginfod(names.DebuginfodOn)
	if _, err := st.Session.Names().Debuginfod.DebugInfo(missingID); err == nil {
		t.Error("there is such a file")
	}
	st.Run()
	got := st.out.String()
	for _, want := range []string{"debug info of build ID " + missingID + ": on the way: 0 bytes", "files that arrive are used at the next stop, or by `symbols refresh`"} {
		if !strings.Contains(got, want) {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
	if strings.Contains(got, "nothing new") {
		t.Errorf("printed %q", got)
	}
}

// TestFetchedText says what is done with files that have arrived.
func TestFetchedText(t *testing.T) {
	one, failure := names.Download{BuildID: "ab"}, errors.New("debuginfod: https://s: timeout")
	for _, tc := range []struct {
		fetched names.Fetched
		want    string
	}{
		{names.Fetched{Files: 1, Last: one}, "debuginfod: debug info of build ID ab has arrived: the next stop uses it, or `symbols refresh` now"},
		{names.Fetched{Files: 3, Last: one, Failed: 2, Err: failure}, "debuginfod: 3 files have arrived: the next stop uses them, or `symbols refresh` now; 2 could not be fetched: see `info debuginfod`"},
		{names.Fetched{Failed: 1, Err: failure}, "debuginfod: https://s: timeout"},
		{names.Fetched{Failed: 2, Err: failure}, "debuginfod: 2 could not be fetched: see `info debuginfod`"},
	} {
		if got := data.FetchedText(tc.fetched); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.fetched, got, tc.want)
		}
	}
}
