package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A server is one of the URLs.
type server struct {
	url     string // without a slash at its end
	name    string // url without a password
	parsed  *url.URL
	refused error // why it is never asked

	mu    sync.Mutex
	until time.Time // it is left alone until then,
	why   error     // because of this
}

func newServer(raw, policy string) *server {
	s := &server{url: strings.TrimRight(raw, "/"), name: raw}
	u, err := url.Parse(s.url)
	switch {
	case err != nil:
		s.refused = errors.New("no URL")
		return s
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file":
		s.refused = errors.New("http, https or file expected")
	case u.Scheme != "file" && u.Host == "":
		s.refused = errors.New("URL without a host")
	case u.Scheme == "file" && u.Host != "" && u.Host != "localhost":
		s.refused = errors.New("file URL with a host")
	case policy != "" && policy != "ignore":
		s.refused = fmt.Errorf("ima:%s demands signatures, which hdb does not verify", policy)
	}
	s.parsed, s.name = u, safeURL(u)
	return s
}

// resting is why the server must not be asked now, nil if it may.
func (s *server) resting() error {
	if s.refused != nil {
		return s.refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := time.Until(s.until); left > 0 {
		return fmt.Errorf("not asked again for another %s: %w", left.Round(time.Second), s.why)
	}
	return nil
}

func (s *server) failed(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until, s.why = time.Now().Add(leaveAlone), why
}

// The ways in which a server does not give a file. Any other error is a failure of
// the server, which is not asked again for a while.
type (
	missing  struct{ error } // it does not have the file
	refusal  struct{ error } // it does not give this file, or not to this user
	passing  struct{ error } // it may answer the next time
	badReply struct{ error } // what it sent is not the file
)

func (e missing) Unwrap() error  { return e.error }
func (e refusal) Unwrap() error  { return e.error }
func (e passing) Unwrap() error  { return e.error }
func (e badReply) Unwrap() error { return e.error }

// serverErrors are what each server said, in one line.
type serverErrors []error

func (e serverErrors) Error() string {
	var parts []string
	for _, err := range e {
		parts = append(parts, err.Error())
	}
	return strings.Join(parts, "; ")
}

func (e serverErrors) Unwrap() []error { return e }

// fetch asks all servers until one has given the file, within one deadline.
func (c *Client) fetch(ctx context.Context, store *cache, t target) (string, error) {
	if c.cfg.MaxTime > 0 {
		var cancel context.CancelFunc
		cause := fmt.Errorf("not complete after %s (DEBUGINFOD_MAXTIME): %w", c.cfg.MaxTime, context.DeadlineExceeded)
		ctx, cancel = context.WithTimeoutCause(ctx, c.cfg.MaxTime, cause)
		defer cancel()
	}
	errs := make([]error, len(c.servers)) // the last of each server
	ask := make([]bool, len(c.servers))
	for i, s := range c.servers {
		errs[i] = s.resting()
		ask[i] = errs[i] == nil
	}
	for attempt := 0; ; attempt++ {
		if path, err := c.round(ctx, store, t, ask, errs); path != "" || err != nil {
			return path, err
		}
		again := false
		for i := range ask {
			ask[i] = ask[i] && errors.As(errs[i], &passing{})
			again = again || ask[i]
		}
		if !again || attempt >= c.cfg.Retries {
			break
		}
		select {
		case <-time.After(200 * time.Millisecond << min(attempt, 5)):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return "", c.conclude(store, t, errs)
}

// conclude makes one error of what the servers said, and notes a file that none has.
func (c *Client) conclude(store *cache, t target, errs []error) error {
	all := true
	for i, s := range c.servers {
		isMissing, isRefusal := errors.As(errs[i], &missing{}), errors.As(errs[i], &refusal{})
		if s.resting() == nil && !isMissing && !isRefusal {
			s.failed(errs[i])
		}
		all = all && isMissing
		errs[i] = fmt.Errorf("%s: %w", s.name, errs[i])
	}
	if all {
		store.miss(t)
		return ErrNotFound
	}
	return serverErrors(errs)
}

// round asks servers at the same time. Those that have the file take turns: the first
// to answer sends it, the next one only when what came was no good.
func (c *Client) round(ctx context.Context, store *cache, t target, ask []bool, errs []error) (string, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		server int
		path   string
		err    error
	}
	results := make(chan result, len(ask))
	turn := make(chan struct{}, 1)
	left := 0
	for i, s := range c.servers {
		if !ask[i] {
			continue
		}
		left++
		go func() {
			path, err := c.transfer(asking, store, s, t, turn)
			results <- result{i, path, err}
		}()
	}
	path := ""
	for ; left > 0; left-- { // all of them, so that nothing of them is left behind
		r := <-results
		switch {
		case r.err == nil:
			path = r.path
			c.whole.received(0, true)
			c.verbose("%s: got from %s", t, c.servers[r.server].name)
			cancel()
		case path == "" && ctx.Err() == nil:
			errs[r.server] = r.err
			if errors.As(r.err, &badReply{}) { // also when another one has the file
				c.servers[r.server].failed(r.err)
			}
			c.verbose("%s: %s: %v", t, c.servers[r.server].name, r.err)
		}
	}
	if path == "" && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return path, nil
}
