package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"hdb/symbols/debuginfod"
)

// servers fetches debug files from debuginfod servers for a command that is not interactive: each
// is waited for. Any number of goroutines may ask.
type servers struct {
	client *debuginfod.Client
	errw   io.Writer

	mu       sync.Mutex
	reported map[string]bool // failures that were said
}

// errNoServers is why --debuginfod can do nothing.
var errNoServers = errors.New("--debuginfod: no server to ask: set DEBUGINFOD_URLS")

// newServers are those of the environment.
func newServers(errw io.Writer) (*servers, error) {
	cfg := debuginfod.FromEnv(os.Getenv).Waiting()
	if len(cfg.URLs) == 0 {
		return nil, errNoServers
	}
	s := &servers{errw: errw, reported: map[string]bool{}}
	cfg.UserAgent = "hdb/" + version()
	if cfg.WantVerbose {
		cfg.Verbose = s.say
	}
	s.client = debuginfod.New(cfg)
	return s, nil
}

// DebugInfo is the path of a debug file. That no server has it is not worth a word,
// that they could not be asked is.
func (s *servers) DebugInfo(buildID string) (string, error) {
	path, err := s.client.DebugInfo(context.Background(), buildID)
	var over *debuginfod.GivenUpError
	switch {
	case errors.As(err, &over): // of this file and all after it
		s.say("debuginfod: " + over.Error())
	case err != nil && !errors.Is(err, debuginfod.ErrNotFound):
		s.say(err.Error())
	}
	return path, err
}

// say prints a line, once.
func (s *servers) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reported[line] {
		s.reported[line] = true
		warn(s.errw, line)
	}
}

func (s *servers) close() {
	if s != nil {
		s.client.Close()
	}
}
