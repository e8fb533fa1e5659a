package debuginfod

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// put makes a file of the cache that was last read so long ago.
func put(t *testing.T, dir, name string, b []byte, mode os.FileMode, age time.Duration) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, mode); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCacheDir(t *testing.T) {
	home := t.TempDir()
	old := t.TempDir()
	if err := os.Mkdir(filepath.Join(old, ".debuginfod_client_cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ path, xdg, home, want string }{
		{"/c", "/x", old, "/c"},
		{"", "/x", old, old + "/.debuginfod_client_cache"},
		{"", "/x", home, "/x/debuginfod_client"},
		{"", "", home, home + "/.cache/debuginfod_client"},
		{"", "", "", ""},
	} {
		env := map[string]string{"DEBUGINFOD_CACHE_PATH": tc.path, "XDG_CACHE_HOME": tc.xdg, "HOME": tc.home}
		if got := FromEnv(func(n string) string { return env[n] }).CacheDir; got != tc.want {
			t.Errorf("%v: %q", tc, got)
		}
	}
	if _, err := New(Config{URLs: []string{"http://127.0.0.1:1"}}).DebugInfo(t.Context(), testID); err == nil || !strings.Contains(err.Error(), "set DEBUGINFOD_CACHE_PATH") {
		t.Errorf("without a home: %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{
		"DEBUGINFOD_URLS": " http://a  https://b/ file:///c ", "DEBUGINFOD_TIMEOUT": "3", "DEBUGINFOD_MAXTIME": "60 s",
		"DEBUGINFOD_MAXSIZE": "1000", "DEBUGINFOD_RETRY_LIMIT": "0", "DEBUGINFOD_PROGRESS": "1", "DEBUGINFOD_VERBOSE": "", "DEBUGINFOD_HEADERS_FILE": "/h",
	}
	cfg := FromEnv(func(n string) string { return env[n] })
	if len(cfg.URLs) != 3 || cfg.Timeout != 3*time.Second || cfg.MaxTime != time.Minute || cfg.MaxSize != 1000 || cfg.Retries != 0 ||
		!cfg.WantProgress || cfg.WantVerbose || cfg.HeadersFile != "/h" {
		t.Errorf("%+v", cfg)
	}
	cfg = FromEnv(func(n string) string {
		return map[string]string{"DEBUGINFOD_TIMEOUT": "-1", "DEBUGINFOD_MAXSIZE": "-5"}[n]
	})
	if cfg.Timeout != 0 || cfg.Retries != 2 || cfg.MaxSize != 0 || cfg.MaxTime != 0 {
		t.Errorf("%+v", cfg)
	}
	if cfg = FromEnv(func(string) string { return "" }); cfg.Timeout != 90*time.Second {
		t.Errorf("%+v", cfg)
	}
}

// TestFound has a file in the cache for each case, and a server that has a good one.
func TestFound(t *testing.T) {
	good, other := elfFile(testID, 100), elfFile(testID, 200)
	outside := put(t, t.TempDir(), "outside", other, 0o600, 0)
	for _, tc := range []struct {
		name  string
		make  func(dir string)
		asked int32
		want  string // of the error
	}{
		{"a good one", func(dir string) { put(t, dir, testID+"/debuginfo", good, 0o400, time.Hour) }, 0, ""},
		{"of another build ID", func(dir string) { put(t, dir, testID+"/debuginfo", elfFile("4567", 1), 0o400, 0) }, 1, ""},
		{"cut", func(dir string) { put(t, dir, testID+"/debuginfo", good[:200], 0o400, 0) }, 1, ""},
		{"none a short time ago", func(dir string) { put(t, dir, testID+"/debuginfo", nil, 0o600, time.Minute) }, 0, "no server has it; asked less than cache_miss_s ago"},
		{"none, of elfutils before 0.185", func(dir string) { put(t, dir, testID+"/debuginfo", nil, 0, time.Minute) }, 0, "no server has it"},
		{"none long ago", func(dir string) { put(t, dir, testID+"/debuginfo", nil, 0o600, time.Hour) }, 1, ""},
		{"none, with a longer memory", func(dir string) {
			put(t, dir, testID+"/debuginfo", nil, 0o600, time.Hour)
			put(t, dir, missFile, []byte("7200\n"), 0o600, 0)
		}, 0, "no server has it"},
		{"none, with no memory", func(dir string) {
			put(t, dir, testID+"/debuginfo", nil, 0o600, time.Minute)
			put(t, dir, missFile, []byte("0"), 0o600, 0)
		}, 1, ""},
		{"a link to elsewhere", func(dir string) {
			put(t, dir, testID+"/x", nil, 0o600, 0)
			_ = os.Symlink(outside, filepath.Join(dir, testID, "debuginfo"))
		}, 0, "not a regular file"},
		{"a directory elsewhere", func(dir string) {
			_ = os.MkdirAll(dir, 0o700)
			_ = os.Symlink(filepath.Dir(outside), filepath.Join(dir, testID))
		}, 0, "path escapes from parent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, gives(good))
			c := newClient(t, nil, s.URL)
			tc.make(c.CacheDir())
			cached, cachedErr := c.CachedDebugInfo(testID)
			path, err := c.DebugInfo(t.Context(), testID)
			switch {
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			case tc.want == "":
				if got, _ := os.ReadFile(path); err != nil || !bytes.Equal(got, good) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
			if s.asked.Load() != tc.asked {
				t.Errorf("asked %d times", s.asked.Load())
			}
			if tc.asked == 1 && !errors.Is(cachedErr, ErrNotCached) || tc.asked == 0 && cached != path {
				t.Errorf("cached: %q, %v", cached, cachedErr)
			}
		})
	}
	if got, _ := os.ReadFile(outside); !bytes.Equal(got, other) {
		t.Error("the file outside was written")
	}
}

func TestMiss(t *testing.T) {
	s := serve(t, http.NotFound)
	c := newClient(t, nil, s.URL)
	for range 3 {
		if _, err := c.DebugInfo(t.Context(), testID); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v", err)
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	for name, want := range map[string]string{missFile: "600", cleanFile: "86400", ageFile: "604800"} {
		if b, err := os.ReadFile(filepath.Join(c.CacheDir(), name)); string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	// Not known is not the same as known to be missing.
	dead := newClient(t, nil, s.URL, "http://127.0.0.1:1")
	if _, err := dead.DebugInfo(t.Context(), testID); errors.Is(err, ErrNotFound) || len(files(t, dead.CacheDir())) != 0 {
		t.Errorf("error %v, files %q", err, files(t, dead.CacheDir()))
	}
}

func TestClean(t *testing.T) {
	day := 24 * time.Hour
	fill := func(dir string) {
		for _, name := range []string{testID + "/debuginfo", testID + "/section-.text", testID + "/source##a.c", testID + "/hdr-debuginfo", "abcd/executable.x1Y2z3"} {
			put(t, dir, name, []byte("x"), 0o400, 8*day)
		}
		for _, name := range []string{"notes.txt", "not-hex/debuginfo", "ABCD/debuginfo", testID + "/mine.txt"} {
			put(t, dir, name, []byte("x"), 0o400, 30*day)
		}
		put(t, dir, testID+"/executable", []byte("x"), 0o400, 6*day)
		_ = os.Mkdir(filepath.Join(dir, "1234"), 0o700)
		old := time.Now().Add(-8 * day)
		_ = os.Chtimes(filepath.Join(dir, "1234"), old, old)
	}
	left := []string{testID + "/executable 1", testID + "/mine.txt 1", "ABCD/debuginfo 1", "not-hex/debuginfo 1", "notes.txt 1"}
	for _, tc := range []struct {
		name    string
		cleaned time.Duration
		age     string
		want    []string
	}{
		{"now", 2 * day, "604800", left},
		{"not yet", time.Hour, "604800", nil},
		{"longer", 2 * day, "800000", nil},
		{"at once", 2 * day, "0", slices.Delete(slices.Clone(left), 0, 1)},
	} {
		dir := t.TempDir()
		fill(dir)
		put(t, dir, cleanFile, []byte("86400"), 0o600, tc.cleaned)
		put(t, dir, ageFile, []byte(tc.age), 0o600, 0)
		want := tc.want
		if want == nil {
			want = files(t, dir)
		}
		c, err := openCache(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		c.clean()
		if got := files(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s: left %q, want %q", tc.name, got, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "1234")); (err == nil) == (tc.name == "now" || tc.name == "at once") {
			t.Errorf("%s: the empty directory: %v", tc.name, err)
		}
		if info, err := os.Stat(filepath.Join(dir, cleanFile)); err != nil || (time.Since(info.ModTime()) < time.Minute) != (tc.cleaned > day) {
			t.Errorf("%s: last cleaned %v, %v", tc.name, info.ModTime(), err)
		}
		c.close()
	}
}

// TestReadKeeps sees to it that reading a file saves it from the cleaning.
func TestReadKeeps(t *testing.T) {
	s := serve(t, http.NotFound)
	c := newClient(t, nil, s.URL)
	path := put(t, c.CacheDir(), testID+"/debuginfo", elfFile(testID, 1), 0o400, 300*time.Hour)
	if _, err := c.CachedDebugInfo(testID); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || time.Since(accessed(info)) > time.Minute || time.Since(info.ModTime()) < 299*time.Hour {
		t.Errorf("%v, %v", info, err)
	}
}
