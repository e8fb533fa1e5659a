package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Errors that callers distinguish.
var (
	ErrNoServers = errors.New("no server: DEBUGINFOD_URLS is not set")
	ErrNotFound  = errors.New("no server has it")
	// ErrNotCached is the error of CachedDebugInfo and CachedSource for what the
	// servers would have to be asked for.
	ErrNotCached = errors.New("not downloaded yet")
	errClosed    = errors.New("closed")
)

// A Client fetches files. New makes one; Close ends its downloads.
type Client struct {
	cfg     Config
	servers []*server
	http    *http.Client
	slots   chan struct{} // downloads at a time
	running sync.WaitGroup
	whole   patience

	mu     sync.Mutex
	calls  map[target]*call
	closed bool
}

// A call is one target under way, for all who wait for it.
type call struct {
	cancel  context.CancelCauseFunc
	waiting int
	done    chan struct{} // closed when path and err are set
	path    string
	err     error
}

// maxParallel is how many files are fetched at a time.
const maxParallel = 4

// leaveAlone is how long a server that failed is not asked again.
const leaveAlone = 5 * time.Minute

// New is a client of the servers in the configuration. It asks none yet.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, slots: make(chan struct{}, maxParallel), calls: map[target]*call{}, whole: patience{limit: cfg.Whole}}
	if c.cfg.UserAgent == "" {
		c.cfg.UserAgent = "hdb"
	}
	policy := ""
	for _, u := range cfg.URLs {
		if p, ok := strings.CutPrefix(u, "ima:"); ok {
			policy = p
			continue
		}
		s := newServer(u, policy)
		if !slices.ContainsFunc(c.servers, func(o *server) bool { return o.url == s.url }) {
			c.servers = append(c.servers, s)
		}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableCompression: true, // get does it, with bounds
		MaxIdleConnsPerHost: maxParallel, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 18,
		TLSHandshakeTimeout: 30 * time.Second,
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: c.checkRedirect}
	return c
}

// Servers are the URLs that are asked, without passwords.
func (c *Client) Servers() []string {
	var list []string
	for _, s := range c.servers {
		list = append(list, s.name)
	}
	return list
}

// CacheDir is where files are kept.
func (c *Client) CacheDir() string { return c.cfg.CacheDir }

// DebugInfo is the path of the debug file with that build ID, hexadecimal. All errors
// of the client begin with "debuginfod: " and what was asked for.
func (c *Client) DebugInfo(ctx context.Context, buildID string) (string, error) {
	return c.get(ctx, debugInfo, buildID, "")
}

// Executable is the path of the executable or library itself.
func (c *Client) Executable(ctx context.Context, buildID string) (string, error) {
	return c.get(ctx, executable, buildID, "")
}

// Source is the path of a source file of a program or library; file is its name in
// debug information, absolute. That it is the source nothing proves.
func (c *Client) Source(ctx context.Context, buildID, file string) (string, error) {
	return c.get(ctx, source, buildID, file)
}

// Section is the path of a file with the contents of one section, compressed if they
// are so in the ELF file. If a file of that build ID is in the cache they are taken
// from there, otherwise nothing proves what a server sends.
func (c *Client) Section(ctx context.Context, buildID, name string) (string, error) {
	return c.get(ctx, section, buildID, name)
}

// CachedDebugInfo is DebugInfo without asking a server.
func (c *Client) CachedDebugInfo(buildID string) (string, error) {
	return c.cached(debugInfo, buildID, "")
}

// CachedSource is Source without asking a server.
func (c *Client) CachedSource(buildID, file string) (string, error) {
	return c.cached(source, buildID, file)
}

// Close ends all downloads and waits for them.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	for _, k := range c.calls {
		k.cancel(errClosed)
	}
	c.mu.Unlock()
	c.running.Wait()
	c.http.CloseIdleConnections()
}

func (c *Client) cached(k kind, id, arg string) (string, error) {
	path, err := c.inCache(k, id, arg)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotCached
	}
	if err != nil {
		return "", fmt.Errorf("debuginfod: %s: %w", target{k, id, arg}, err)
	}
	return path, nil
}

func (c *Client) inCache(k kind, id, arg string) (string, error) {
	t, err := newTarget(k, id, arg)
	if err != nil {
		return "", err
	}
	if len(c.servers) == 0 {
		return "", ErrNoServers
	}
	store, err := openCache(c.cfg.CacheDir, c.cfg.defaultDir)
	if err != nil {
		return "", err
	}
	defer store.close()
	return store.find(t)
}

// get waits for a target, which is fetched once for all who want it.
func (c *Client) get(ctx context.Context, k kind, id, arg string) (string, error) {
	t, err := newTarget(k, id, arg)
	if err == nil && len(c.servers) == 0 {
		err = ErrNoServers
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("debuginfod: %s: %w", t, err)
	}
	w, err := c.join(t)
	if err != nil {
		return "", fmt.Errorf("debuginfod: %s: %w", t, err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		c.leave(w, context.Cause(ctx))
		return "", fmt.Errorf("debuginfod: %s: %w", t, context.Cause(ctx))
	}
	if w.err != nil {
		return "", fmt.Errorf("debuginfod: %s: %w", t, w.err)
	}
	return w.path, nil
}

// join begins the call, or waits with others. The caller's context does not end it:
// the last to leave does.
func (c *Client) join(t target) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	w := c.calls[t]
	if w == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		w = &call{cancel: cancel, done: make(chan struct{})}
		c.calls[t] = w
		c.running.Go(func() {
			path, err := c.obtain(ctx, t)
			cancel(nil)
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.calls[t] == w { // no caller who left has begun again
				delete(c.calls, t)
			}
			w.path, w.err = path, err
			close(w.done)
		})
	}
	w.waiting++
	return w, nil
}

func (c *Client) leave(w *call, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.waiting--; w.waiting > 0 {
		return
	}
	for t, other := range c.calls {
		if other == w {
			delete(c.calls, t)
		}
	}
	w.cancel(cause)
}

// obtain takes the target from the cache or from a server.
func (c *Client) obtain(ctx context.Context, t target) (string, error) {
	store, err := openCache(c.cfg.CacheDir, c.cfg.defaultDir)
	if err != nil {
		return "", err
	}
	defer store.close()
	store.clean()
	path, err := store.find(t)
	if t.kind == section && err != nil {
		if own, extractErr := store.extract(t); extractErr == nil {
			return own, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	ctx, end := c.whole.begin(ctx)
	defer end()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return c.fetch(ctx, store, t)
}

func (c *Client) verbose(format string, args ...any) {
	if c.cfg.Verbose != nil {
		c.cfg.Verbose("debuginfod: " + fmt.Sprintf(format, args...))
	}
}

// checkRedirect keeps a server from sending the client elsewhere than to the web, and
// the user's own headers from going to other hosts.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch to := req.URL; {
	case to.Scheme != "http" && to.Scheme != "https":
		return badReply{fmt.Errorf("redirected to a %s address", to.Scheme)}
	case from.Scheme == "https" && to.Scheme == "http":
		return badReply{fmt.Errorf("redirected from https to http, %s", safeURL(to))}
	case len(via) >= 5:
		return badReply{fmt.Errorf("redirected more than %d times", len(via)-1)}
	case to.Host != via[0].URL.Host:
		for name := range c.extraHeaders() {
			req.Header.Del(name)
		}
	}
	return nil
}

// safeURL is a URL for messages.
func safeURL(u *url.URL) string { return u.Redacted() }
