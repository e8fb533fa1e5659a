package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOneDeadlineForAllFiles wants many files, one after the other, of a server that
// never answers: it is asked for the first one only.
func TestOneDeadlineForAllFiles(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		maxTime time.Duration
	}{
		{"timeout", 400 * time.Millisecond, 0},
		{"timeout before the end of one file", 400 * time.Millisecond, time.Hour},
		{"time for one file", time.Hour, 400 * time.Millisecond},
		{"time for one file only", 0, 400 * time.Millisecond},
	} {
		asked := s.asked.Load()
		c := newClient(t, func(cfg *Config) {
			cfg.Timeout, cfg.MaxTime, cfg.Retries = tc.timeout, tc.maxTime, 0
			*cfg = cfg.Waiting()
		}, s.URL)
		if c.cfg.Whole != 400*time.Millisecond {
			t.Errorf("%s: %s for all files", tc.name, c.cfg.Whole)
		}
		c.cfg.Timeout, c.cfg.MaxTime = 0, 0 // only the deadline for all ends a request
		for i := range 20 {
			var over *GivenUpError
			if _, err := c.DebugInfo(t.Context(), fmt.Sprintf("%040x", 0x1000+i)); !errors.As(err, &over) || !strings.Contains(err.Error(), "0 bytes in 400ms") {
				t.Errorf("%s: file %d: %v", tc.name, i, err)
			}
		}
		if n := s.asked.Load() - asked; n != 1 {
			t.Errorf("%s: the server was asked %d times", tc.name, n)
		}
	}
}

// TestDeadlineBeginsAnew keeps asking servers that send.
func TestDeadlineBeginsAnew(t *testing.T) {
	p := patience{limit: time.Hour, spent: 59 * time.Minute}
	ctx, end := p.begin(context.Background())
	if p.received(leastPerTimeout-1, false); p.spent == 0 {
		t.Error("too little begins the time anew")
	}
	if p.received(1, false); p.spent != 0 {
		t.Error("100 KiB do not begin the time anew")
	}
	p.spent = 59 * time.Minute
	if p.received(0, true); p.spent != 0 {
		t.Error("a file does not begin the time anew")
	}
	if p.expire(); ctx.Err() != nil || p.over != nil { // too late
		t.Errorf("ended: %v", context.Cause(ctx))
	}
	end()
	if p.waiting != 0 || len(p.cancels) != 0 {
		t.Errorf("%d wait, %d contexts", p.waiting, len(p.cancels))
	}
}
