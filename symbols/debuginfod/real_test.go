package debuginfod

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// startServer runs elfutils' debuginfod on the files below dir.
func startServer(t *testing.T, dir string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	var log bytes.Buffer
	cmd := exec.Command("debuginfod", "-F", "-d", ":memory:", "-p", fmt.Sprint(port), "-t", "0", dir)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+t.TempDir())
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("debuginfod: %v (apt-get install debuginfod)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for end := testprogs.Deadline(t); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url + "/metrics")
		if err == nil {
			var b bytes.Buffer
			_, _ = b.ReadFrom(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(b.String(), "thread_work_total{role=\"traverse\"} 1") && strings.Contains(b.String(), "thread_work_pending{role=\"scan\"} 0") {
				return url
			}
		}
		if time.Now().After(end) {
			t.Fatalf("debuginfod has not read %s: %v", dir, err)
		}
	}
}

// TestRealServer fetches all there is from elfutils' own server.
func TestRealServer(t *testing.T) {
	dir := t.TempDir()
	prog, debug, id := build(t, dir, "real")
	c := newClient(t, func(cfg *Config) { cfg.Timeout = 20 * time.Second }, startServer(t, filepath.Dir(prog)))
	source := filepath.Join(dir, "real.c")
	for _, tc := range []struct {
		get  func() (string, error)
		name string
		want string
	}{
		{func() (string, error) { return c.Section(t.Context(), id, ".interp") }, "section-.interp", ""},
		{func() (string, error) { return c.DebugInfo(t.Context(), id) }, "debuginfo", debug},
		{func() (string, error) { return c.Executable(t.Context(), id) }, "executable", prog},
		{func() (string, error) { return c.Source(t.Context(), id, source) }, "source" + strings.ReplaceAll(source, "/", "##"), source},
		{func() (string, error) { return c.Section(t.Context(), id, ".debug_str") }, "section-.debug_str", ""},
	} {
		path, err := tc.get()
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if want := filepath.Join(c.CacheDir(), id, tc.name); path != want {
			t.Errorf("%s is called %s", want, path)
		}
		got, _ := os.ReadFile(path)
		if tc.want != "" {
			if want, _ := os.ReadFile(tc.want); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %s has %d", path, len(got), tc.want, len(want))
			}
		} else if len(got) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	if _, err := c.DebugInfo(t.Context(), testID); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Source(t.Context(), id, "/etc/passwd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// TestShared has elfutils' client and this one use one cache: what one has fetched, the
// other finds when the server is gone.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	prog, _, id := build(t, dir, "shared")
	source := filepath.Join(dir, "shared.c")
	url := startServer(t, filepath.Dir(prog))
	dead := "http://127.0.0.1:1"
	questions := [][]string{{"debuginfo", id}, {"executable", id}, {"source", id, source}, {"section", id, ".interp"}, {"debuginfo", testID}}
	find := func(t *testing.T, cache, url string, q []string) (string, error) {
		cmd := exec.Command("debuginfod-find", q...)
		cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS="+url, "DEBUGINFOD_CACHE_PATH="+cache, "DEBUGINFOD_RETRY_LIMIT=0")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, errs.Bytes())
		}
		return strings.TrimSpace(string(out)), err
	}
	ask := func(t *testing.T, cache, url string, q []string) (string, error) {
		c := newClient(t, func(cfg *Config) { cfg.CacheDir, cfg.Timeout = cache, 20*time.Second }, url)
		switch q[0] {
		case "debuginfo":
			return c.DebugInfo(t.Context(), q[1])
		case "executable":
			return c.Executable(t.Context(), q[1])
		case "source":
			return c.Source(t.Context(), q[1], q[2])
		}
		return c.Section(t.Context(), q[1], q[2])
	}
	for name, pair := range map[string][2]func(*testing.T, string, string, []string) (string, error){
		"theirs by us": {find, ask}, "ours by them": {ask, find},
	} {
		t.Run(name, func(t *testing.T) {
			cache := filepath.Join(t.TempDir(), "cache")
			for _, q := range questions {
				missing := q[1] == testID
				path, err := pair[0](t, cache, url, q)
				if (err != nil) != missing {
					t.Errorf("%s: %v", q, err)
				}
				again, err := pair[1](t, cache, dead, q)
				switch {
				case missing && (err == nil || strings.Contains(err.Error(), "refused")):
					t.Errorf("%s: a second time: %q, %v", q, again, err)
				case !missing && (err != nil || again != path):
					t.Errorf("%s: %q, but the other has it as %q: %v", q, again, path, err)
				}
			}
			if got := files(t, cache); !slices.Contains(got, testID+"/debuginfo 0") || len(got) < 5 {
				t.Errorf("cache has %q", got)
			}
		})
	}
}
