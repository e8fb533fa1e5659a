package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGood(t *testing.T) {
	want := elfFile(testID, 1000)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/buildid/"+testID+"/debuginfo" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Last-Modified", "Tue, 01 Feb 2022 00:00:00 GMT")
		_, _ = w.Write(want)
	})
	var told []Progress
	c := newClient(t, func(cfg *Config) { cfg.Progress = func(p Progress) { told = append(told, p) } }, s.URL+"/base/")
	for range 2 {
		path, err := c.DebugInfo(t.Context(), strings.ToUpper(testID))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d", path, len(got), len(want))
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o400 || info.ModTime().UTC().Format(time.DateOnly) != "2022-02-01" {
			t.Errorf("%v, %v", info, err)
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	if len(told) == 0 || told[len(told)-1].Done != int64(len(want)) || told[0].Total != int64(len(want)) {
		t.Errorf("progress %+v", told)
	}
	if got := files(t, c.CacheDir()); !slices.Equal(got, []string{testID + "/debuginfo 1398"}) {
		t.Errorf("cache has %q", got)
	}
}

// TestRefused has a hostile or broken server for each case: nothing of what it sends
// may be left in the cache.
func TestRefused(t *testing.T) {
	good := elfFile(testID, 100_000)
	bomb := pack(io.LimitReader(zeroReader{}, 4<<20))
	for _, tc := range []struct {
		name    string
		want    string // of the error
		asked   int32  // with two more attempts
		handler http.HandlerFunc
	}{
		{"not found", "no server has it", 1, http.NotFound},
		{"forbidden", "403 Forbidden", 1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }},
		{"too large", "406 Not Acceptable", 1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(406) }},
		{"failing", "503 Service Unavailable", 3, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
		{"no content", "204 No Content", 1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
		{"empty", "an empty file", 1, gives(nil)},
		{"a web page", "no ELF file", 1, gives([]byte("<html>" + strings.Repeat("x", 100)))},
		{"wrong build ID", "build ID 0123, wanted " + testID, 1, gives(elfFile("0123", 100))},
		{"no build ID", "without a build ID", 1, gives(bytes.Replace(good, []byte("GNU\x00"), []byte("XXX\x00"), 1))},
		{"short of its length", "after 5000 bytes: unexpected EOF", 3, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good[:5000])
		}},
		{"cut without a length", "unexpected EOF", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = w.Write(good[:50_000])
		}},
		{"cut in the middle of a section", "truncated: section 2 ends at byte", 1, gives(cutSection(good))},
		{"less than it said", "truncated: 100398 of 200000 bytes", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-DEBUGINFOD-SIZE", "200000")
			w.(http.Flusher).Flush()
			_, _ = w.Write(good)
		}},
		{"endless", "more than the limit of 1048576 bytes", 1, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, io.MultiReader(bytes.NewReader(good), zeroReader{}))
		}},
		{"long", "5000000 bytes, more than the limit of 1048576", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000000")
			_, _ = w.Write(good)
		}},
		{"long when unpacked", "more than the limit of 1048576 bytes", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}},
		{"endless gzip of nothing", "before they were unpacked", 1, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			nothing := bytes.Repeat(pack(bytes.NewReader(nil)), 1000)
			for r.Context().Err() == nil {
				_, _ = w.Write(nothing)
			}
		}},
		{"broken gzip", "gzip: invalid header", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(good)
		}},
		{"another encoding", `encoded as "br"`, 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write(good)
		}},
		{"redirect to a file", "redirected to a file address", 1, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}},
		{"redirect to itself", "redirected more than 4 times", 5, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}},
		{"never answers", "too slow: 0 bytes in 300ms", 3, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"trickles", "bytes in 300ms (DEBUGINFOD_TIMEOUT)", 3, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte{0})
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}},
		{"hangs up", "EOF", 3, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tc.handler)
			c := newClient(t, func(cfg *Config) {
				cfg.Retries, cfg.MaxSize = 2, 1<<20
				if strings.Contains(tc.want, "300ms") {
					cfg.Timeout = 300 * time.Millisecond
				}
			}, s.URL)
			path, err := c.DebugInfo(t.Context(), testID)
			if path != "" || err == nil || !strings.HasPrefix(err.Error(), "debuginfod: debuginfo of build ID "+testID+": ") ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("path %q, error %v, want %q", path, err, tc.want)
			}
			if n := s.asked.Load(); n != tc.asked {
				t.Errorf("asked %d times, want %d", n, tc.asked)
			}
			var want []string
			if tc.name == "not found" {
				want = []string{testID + "/debuginfo 0"}
			}
			if got := files(t, c.CacheDir()); !slices.Equal(got, want) {
				t.Errorf("cache has %q, want %q", got, want)
			}
		})
	}
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// cutSection makes the second section longer than the file.
func cutSection(b []byte) []byte {
	b = slices.Clone(b)
	headers := len(b) - 4*64
	b[headers+2*64+32+3] = 0x7f // sh_size
	return b
}

func TestGzip(t *testing.T) {
	want := elfFile(testID, 1<<20)
	for _, tc := range []struct {
		name, want string
		packed     []byte
	}{
		{"a file", "", pack(bytes.NewReader(want))},
		{"a bomb", "bytes that unpack to more than", pack(io.LimitReader(zeroReader{}, 32<<20))},
		{"cut", "unexpected EOF", pack(bytes.NewReader(want))[:1000]},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(tc.packed)
		})
		path, err := newClient(t, nil, s.URL).DebugInfo(t.Context(), testID)
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
			}
			continue
		}
		if got, _ := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", tc.name, len(got), err)
		}
	}
}

func pack(r io.Reader) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = io.Copy(z, r)
	_ = z.Close()
	return b.Bytes()
}

func TestServers(t *testing.T) {
	good := elfFile(testID, 1000)
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	none := serve(t, http.NotFound)
	wrong := serve(t, gives(elfFile("0123", 5)))
	var c *Client
	right := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// The others are first: what right gives ends all requests.
		for (c.servers[2].resting() == nil || none.asked.Load() == 0) && r.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_, _ = w.Write(good)
	})
	c = newClient(t, func(cfg *Config) { cfg.Timeout = 0 }, slow.URL, none.URL, wrong.URL, right.URL, right.URL+"/")
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.DebugInfo(within, testID); err != nil { // the slow one is not waited for
		t.Fatal(err)
	}
	c.cfg.Timeout = 2 * time.Second // for slow alone: the others answer sooner on a busy machine, too
	if len(c.Servers()) != 4 || right.asked.Load() != 1 {
		t.Errorf("servers %q, the right one asked %d times", c.Servers(), right.asked.Load())
	}
	// The one that lied is left alone, the others are asked.
	_, err := c.Executable(t.Context(), "4567")
	if wrong.asked.Load() != 1 || none.asked.Load() != 2 {
		t.Errorf("the wrong one was asked %d times, the empty one %d", wrong.asked.Load(), none.asked.Load())
	}
	for _, want := range []string{"too slow", "404 Not Found", "not asked again for another 5m0s: build ID 0123", "build ID " + testID + ", wanted 4567"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestUnusableServers(t *testing.T) {
	for _, tc := range []struct{ url, want string }{
		{"ftp://host", "ftp://host: http, https or file expected"},
		{"file://host/dir", "file URL with a host"},
		{"http:///x", "URL without a host"},
		{"http://user:secret@127.0.0.1:1", "http://user:xxxxx@127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"ima:enforcing http://127.0.0.1:1", "ima:enforcing demands signatures"},
		{"http://%zz", "no URL"},
	} {
		_, err := newClient(t, nil, strings.Fields(tc.url)...).DebugInfo(t.Context(), testID)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.url, err, tc.want)
		}
	}
	if _, err := newClient(t, nil).DebugInfo(t.Context(), testID); !errors.Is(err, ErrNoServers) {
		t.Errorf("error %v", err)
	}
}

func TestNames(t *testing.T) {
	c := newClient(t, nil, "http://127.0.0.1:1")
	for _, id := range []string{"", "12", "123", "xy12", "../../etc", strings.Repeat("12", 65), "1234/../5678"} {
		if _, err := c.DebugInfo(t.Context(), id); err == nil || !strings.Contains(err.Error(), "is not a build ID") {
			t.Errorf("build ID %q: error %v", id, err)
		}
	}
	for _, file := range []string{"", "a.c", "/", "/a/", "/a\x00b", "/" + strings.Repeat("x", 5000)} {
		if _, err := c.Source(t.Context(), testID, file); err == nil || !strings.Contains(err.Error(), "an absolute path") {
			t.Errorf("source %q: error %v", file, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "../x"} {
		if _, err := c.Section(t.Context(), testID, name); err == nil || !strings.Contains(err.Error(), "the name of a section") {
			t.Errorf("section %q: error %v", name, err)
		}
	}
	if _, err := os.Stat(c.CacheDir()); err == nil {
		t.Error("the cache was made for nothing")
	}
}

func TestSource(t *testing.T) {
	text := []byte("int main;\n")
	page := false
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if page {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		if want := "/buildid/" + testID + "/source/a%20b/../%C3%A4%23%25%2B.c"; !page && r.URL.EscapedPath() != want {
			t.Errorf("asked for %s, want %s", r.URL.EscapedPath(), want)
		}
		_, _ = w.Write(text)
	})
	c := newClient(t, nil, s.URL)
	path, err := c.Source(t.Context(), testID, "/a b/../ä#%+.c")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(c.CacheDir(), testID, "source##a b##..##ä#_%+.c"); path != want {
		t.Errorf("is %s, want %s", path, want)
	}
	if got := files(t, c.CacheDir()); len(got) != 2 || !strings.HasPrefix(got[1], testID+"/source-") {
		t.Errorf("cache has %q", got) // one file, two names
	}
	if got, err := c.CachedSource(testID, "/a b/../ä#%+.c"); got != path {
		t.Errorf("cached: %q, %v", got, err)
	}
	page = true
	long := "/" + strings.Repeat("dir/", 100) + "x.c"
	if _, err := c.Source(t.Context(), testID, long); err == nil || !strings.Contains(err.Error(), "a web page") {
		t.Errorf("error %v", err)
	}
}

func TestLongSource(t *testing.T) {
	s := serve(t, gives([]byte("x")))
	c := newClient(t, nil, s.URL)
	path, err := c.Source(t.Context(), testID, "/"+strings.Repeat("dir/", 100)+"x.c")
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(path); len(name) != len("source-01234567-")+117 || !strings.HasSuffix(name, "#dir#dir#x.c") {
		t.Errorf("is called %s", name)
	}
}

// TestLaterNames has names as elfutils makes them since 0.192.
func TestLaterNames(t *testing.T) {
	for arg, want := range map[string]string{
		"a":                "0002b606-a",
		".text":            "0b80c0d8-.text",
		"/usr/include/ä.h": "608477ed-#usr#include###.h",
	} {
		if got := hashedName(arg); got != want {
			t.Errorf("%s is called %s, want %s", arg, got, want)
		}
	}
}

func TestSection(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/debuginfo") {
			_, _ = w.Write(elfFile(testID, 10))
			return
		}
		_, _ = w.Write([]byte("of the server"))
	})
	c := newClient(t, nil, s.URL)
	for _, want := range []struct{ name, text string }{{".debug_line", "of the server"}, {".debug_info", "dddddddddd"}} {
		path, err := c.Section(t.Context(), testID, want.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != want.text || filepath.Base(path) != "section-"+want.name {
			t.Errorf("%s: %q", path, got)
		}
		if _, err := c.DebugInfo(t.Context(), testID); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestFileURL(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a b", "buildid", testID)
	for name, b := range map[string][]byte{"debuginfo": elfFile(testID, 100), "source/src/x.c": []byte("x"), "../../../outside": []byte("y")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newClient(t, nil, "file://"+(&url.URL{Path: dir + "/a b"}).EscapedPath())
	path, err := c.DebugInfo(t.Context(), testID)
	if err != nil || !strings.HasPrefix(path, c.CacheDir()) {
		t.Errorf("%s, %v", path, err)
	}
	if _, err := c.Source(t.Context(), testID, "/build/../src/x.c"); err != nil {
		t.Error(err)
	}
	if _, err := c.Source(t.Context(), testID, "/../../../../outside"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Source(t.Context(), testID, "/src"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

func TestHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(file, []byte("X-Key: secret\n\nno colon\nBad Name: x\nUser-Agent: me\nX-Empty:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			t.Error("the key went to another host")
		}
		_, _ = w.Write(elfFile(testID, 1))
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" || r.Header.Get("User-Agent") != "me" || r.Header.Get("X-DEBUGINFOD-MAXSIZE") != "100000" {
			t.Errorf("headers %v", r.Header)
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	c := newClient(t, func(cfg *Config) { cfg.HeadersFile, cfg.MaxSize = file, 100_000 }, s.URL)
	if _, err := c.DebugInfo(t.Context(), testID); err != nil {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	began := make(chan bool, 10)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(elfFile(testID, 200_000)[:150_000])
		w.(http.Flusher).Flush()
		began <- true
		<-r.Context().Done()
	})
	c := newClient(t, func(cfg *Config) { cfg.Timeout = 0 }, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := c.DebugInfo(ctx, testID); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	c.Close()
	if got := files(t, c.CacheDir()); len(got) != 0 {
		t.Errorf("cache has %q", got)
	}
	if _, err := c.DebugInfo(t.Context(), testID); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	late := newClient(t, func(cfg *Config) { cfg.Timeout, cfg.MaxTime = 0, 200*time.Millisecond }, s.URL)
	if _, err := late.DebugInfo(t.Context(), testID); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "DEBUGINFOD_MAXTIME") {
		t.Errorf("error %v", err)
	}
}

// TestTogether asks for one file many times at once: it is fetched once, and one who
// leaves takes it from nobody.
func TestTogether(t *testing.T) {
	release := make(chan bool)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		_, _ = w.Write(elfFile(testID, 10))
	})
	c := newClient(t, func(cfg *Config) { cfg.Timeout = 0 }, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			own := ctx
			if i > 0 {
				own = t.Context()
			}
			if _, err := c.DebugInfo(own, testID); (err == nil) != (i > 0) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	waiting := func(n int) {
		for all := 0; all != n; time.Sleep(time.Millisecond) {
			c.mu.Lock()
			all = 0
			for _, k := range c.calls {
				all += k.waiting
			}
			c.mu.Unlock()
		}
	}
	waiting(10)
	cancel()
	waiting(9)
	close(release)
	wg.Wait()
	if n := s.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
