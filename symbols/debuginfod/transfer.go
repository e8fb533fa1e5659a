package debuginfod

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hdb/internal/regular"
)

// An answer is a server's positive one. Its body was not read yet.
type answer struct {
	body     io.ReadCloser
	gzip     bool
	size     int64 // of the file, -1 unknown
	modified time.Time
}

// leastPerTimeout is how much has to come in each Timeout, in bytes.
const leastPerTimeout = 100 << 10

// A file that was compressed may not be more than maxRatio times as long as what was
// sent, from bombFree bytes on. Debug files reach 10, deflate 1032.
const (
	maxRatio = 200
	bombFree = 16 << 20
)

// A watchdog ends a transfer that is too slow.
type watchdog struct {
	received atomic.Int64 // bytes since the last look
	stop     func()
}

// watch cancels ctx when too little has come in a timeout.
func watch(cancel context.CancelCauseFunc, timeout time.Duration) *watchdog {
	w := &watchdog{stop: func() {}}
	if timeout <= 0 {
		return w
	}
	ticker, done := time.NewTicker(timeout), make(chan struct{})
	w.stop = func() { close(done) }
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if n := w.received.Swap(0); n < leastPerTimeout {
					cancel(passing{fmt.Errorf("too slow: %d bytes in %s (DEBUGINFOD_TIMEOUT)", n, timeout)})
					return
				}
			}
		}
	}()
	return w
}

// transfer gets the file from one server, when it is its turn, and puts it in the cache. A turn
// that succeeded is kept.
func (c *Client) transfer(ctx context.Context, store *cache, s *server, t target, turn chan struct{}) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The cause says more than the error that it leads to.
	explain := func(err error) error {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		return err
	}
	dog := watch(cancel, c.cfg.Timeout)
	a, err := c.ask(ctx, s, t)
	dog.stop()
	if err != nil {
		return "", explain(err)
	}
	defer a.body.Close()
	if limit := c.limit(t); a.size > limit {
		return "", refusal{fmt.Errorf("%d bytes, more than the limit of %d", a.size, limit)}
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return "", explain(ctx.Err())
	}
	dog = watch(cancel, c.cfg.Timeout)
	defer dog.stop()
	path, err := c.receive(ctx, store, s, t, a, dog)
	if err != nil {
		<-turn
		return "", explain(err)
	}
	return path, nil
}

// limit bounds a file, in bytes.
func (c *Client) limit(t target) int64 {
	if c.cfg.MaxSize > 0 {
		return min(c.cfg.MaxSize, t.kind.limit())
	}
	return t.kind.limit()
}

// ask sends the request.
func (c *Client) ask(ctx context.Context, s *server, t target) (*answer, error) {
	if s.parsed.Scheme == "file" {
		return openLocal(s.parsed, t)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+t.urlPath(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = c.extraHeaders()
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	if c.cfg.MaxSize > 0 {
		req.Header.Set("X-DEBUGINFOD-MAXSIZE", strconv.FormatInt(c.cfg.MaxSize, 10))
	}
	req.Header.Set("Accept-Encoding", "gzip")
	c.verbose("asking %s", safeURL(req.URL))
	resp, err := c.http.Do(req)
	if err != nil {
		var wrapped *url.Error // repeats the URL
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if errors.As(err, &badReply{}) {
			return nil, err
		}
		return nil, passing{err}
	}
	if err := checkStatus(resp.StatusCode); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	a, err := newAnswer(resp, t)
	if err != nil {
		_ = resp.Body.Close()
		return nil, badReply{err}
	}
	return a, nil
}

func checkStatus(code int) error {
	if code == http.StatusOK {
		return nil
	}
	err := fmt.Errorf("%d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusNotFound, code == http.StatusGone:
		return missing{err}
	case code == http.StatusNotAcceptable: // X-DEBUGINFOD-MAXSIZE
		return refusal{fmt.Errorf("%w: larger than DEBUGINFOD_MAXSIZE", err)}
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return passing{err}
	case code >= 400:
		return refusal{err}
	}
	return badReply{err}
}

func newAnswer(resp *http.Response, t target) (*answer, error) {
	a := &answer{body: resp.Body, size: resp.ContentLength}
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		a.gzip, a.size = true, -1
	default:
		return nil, fmt.Errorf("encoded as %q, which was not asked for", encoding)
	}
	if a.size < 0 {
		if n, err := strconv.ParseInt(resp.Header.Get("X-DEBUGINFOD-SIZE"), 10, 64); err == nil && n > 0 {
			a.size = n
		}
	}
	if !t.kind.isELF() && strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/html") {
		return nil, errors.New("a web page, not a file")
	}
	if m, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		a.modified = m
	}
	return a, nil
}

// openLocal opens the file of a file URL, whose directory is laid out as the paths of
// a server are. What a source is called cannot lead out of it.
func openLocal(base *url.URL, t target) (*answer, error) {
	name := path.Join("/buildid", t.id, string(t.kind))
	if t.arg != "" {
		name = path.Join(name, path.Clean("/"+t.arg))
	}
	name = base.Path + name
	info, err := os.Stat(name) // before opening: a FIFO would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing{err}
	case err != nil:
		return nil, refusal{err}
	case !info.Mode().IsRegular():
		return nil, refusal{fmt.Errorf("%s: not a regular file", name)}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, refusal{err}
	}
	return &answer{body: f, size: info.Size(), modified: info.ModTime()}, nil
}

// receive reads the answer into the cache, and looks at what it is.
func (c *Client) receive(ctx context.Context, store *cache, s *server, t target, a *answer, dog *watchdog) (string, error) {
	d, err := store.draft(t)
	if err != nil {
		return "", refusal{err}
	}
	if err := c.fill(ctx, d, s, t, a, dog); err != nil {
		d.drop()
		return "", err
	}
	modified := time.Now()
	if !a.modified.IsZero() && a.modified.Before(modified) {
		modified = a.modified
	}
	file, err := d.keep(modified)
	if err != nil {
		return "", refusal{err}
	}
	return file, nil
}

// fill writes the file. Errors of the disk are no fault of the server.
func (c *Client) fill(ctx context.Context, d *draft, s *server, t target, a *answer, dog *watchdog) error {
	limit := c.limit(t)
	sent := &counter{r: a.body, dog: dog, whole: &c.whole, limit: limit}
	var body io.Reader = sent
	if a.gzip {
		z, err := gzip.NewReader(bufio.NewReader(sent))
		if err != nil {
			return badReply{fmt.Errorf("gzip: %w", err)}
		}
		body = z
	}
	progress := Progress{BuildID: t.id, What: t.what(), Server: s.name, Total: a.size}
	var reportedAt time.Time
	b := make([]byte, 128<<10)
	for {
		n, err := body.Read(b)
		progress.Done += int64(n)
		switch {
		case progress.Done > limit:
			return refusal{fmt.Errorf("more than the limit of %d bytes", limit)}
		case a.gzip && progress.Done > bombFree && progress.Done > maxRatio*sent.n:
			return badReply{fmt.Errorf("%d bytes that unpack to more than %d", sent.n, progress.Done)}
		}
		if _, diskErr := d.f.Write(b[:n]); diskErr != nil {
			return refusal{diskErr}
		}
		if c.cfg.Progress != nil && time.Since(reportedAt) >= 200*time.Millisecond {
			reportedAt = time.Now()
			c.cfg.Progress(progress)
		}
		if err == io.EOF {
			break
		}
		if err != nil && ctx.Err() == nil && !errors.As(err, &refusal{}) {
			return passing{fmt.Errorf("after %d bytes: %w", progress.Done, err)}
		}
		if err != nil {
			return err
		}
	}
	if c.cfg.Progress != nil {
		c.cfg.Progress(progress)
	}
	switch {
	case progress.Done == 0:
		return badReply{errors.New("an empty file")}
	case progress.Done < a.size:
		return badReply{fmt.Errorf("truncated: %d of %d bytes", progress.Done, a.size)}
	}
	if t.kind.isELF() {
		if err := verify(d.f, progress.Done, t.id); err != nil {
			return badReply{err}
		}
	}
	return nil
}

// A counter counts what is read, and lets the watchdog know. It ends what continues for longer than
// a file may be without ever unpacking to one.
type counter struct {
	r     io.Reader
	n     int64
	limit int64
	dog   *watchdog
	whole *patience
}

// packedExtra is how much longer a file may be for having been packed, in bytes:
// deflate adds 5 to 64 KiB that it cannot shorten.
const packedExtra = 1 << 20

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	c.dog.received.Add(int64(n))
	c.whole.received(int64(n), false)
	if c.n > c.limit+c.limit>>10+packedExtra {
		return n, refusal{fmt.Errorf("more than the limit of %d bytes, before they were unpacked", c.limit)}
	}
	return n, err
}

// extraHeaders are those of the user's file, one a line. Lines of another form count
// as none.
func (c *Client) extraHeaders() http.Header {
	h := http.Header{}
	if c.cfg.HeadersFile == "" {
		return h
	}
	f, _, err := regular.Open(c.cfg.HeadersFile)
	if err != nil {
		c.verbose("headers: %v", err)
		return h
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if value = strings.TrimSpace(value); ok && isToken(name) && value != "" {
			h.Add(name, value)
		}
	}
	return h
}

// isToken tells the names that a header may have (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
