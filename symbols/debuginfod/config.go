// Package debuginfod fetches debug files, executables, sources and sections by
// build ID from debuginfod servers, and shares the cache of elfutils' client.
//
// What a server sends is not trusted. An ELF file is used only when it carries the
// build ID that was asked for and all its sections are there; of a source or a
// section nothing says where it is from, so their readers must expect anything.
// Sizes are bounded, also of what was compressed, and a server that fails is not
// asked again for a while.
//
// The interface of servers is debuginfod(8), the environment variables and the control files of the
// cache are those of debuginfod-client-config(7). The names of cached files are not documented;
// they were read from elfutils 0.188 and 0.193.
//
// A Client is safe for concurrent use. Its lock is held only to look at its maps.
package debuginfod

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Config is what a client works by.
type Config struct {
	URLs        []string      // servers: http, https and file; a word ima:POLICY is for those after it
	CacheDir    string        // where files are kept; required
	Timeout     time.Duration // a server must send 100 KiB, or all, in each such time; 0 is no limit
	MaxTime     time.Duration // for one file, over all servers and attempts; 0 is no limit
	Whole       time.Duration // all files together must send 100 KiB, or one of them all, in each such time of waiting, or no server is asked any more; 0 is no limit
	MaxSize     int64         // bytes of one file; 0 leaves the package's own limits
	Retries     int           // more attempts on a server that did not answer
	HeadersFile string        // lines "Name: value" to send along, read for each file
	UserAgent   string

	WantProgress, WantVerbose bool // the user asked for them by the environment

	Progress func(Progress) // told of downloads, at most five times a second each; may be nil
	Verbose  func(string)   // told what is asked and answered, a line each; may be nil

	defaultDir bool // CacheDir was not chosen by the user
}

// Progress tells how far a download is.
type Progress struct {
	BuildID string
	What    string // debuginfo, executable, source /a/b.c, section .text
	Server  string
	Done    int64 // bytes
	Total   int64 // bytes, -1 unknown
}

// The defaults of debuginfod-client-config(7).
const (
	defaultTimeout = 90 * time.Second
	defaultRetries = 2
)

// FromEnv is the configuration that the environment asks for.
func FromEnv(getenv func(string) string) Config {
	dir, byDefault := cacheDir(getenv)
	return Config{
		URLs:         strings.Fields(getenv("DEBUGINFOD_URLS")),
		CacheDir:     dir,
		Timeout:      seconds(getenv("DEBUGINFOD_TIMEOUT"), defaultTimeout),
		MaxTime:      seconds(getenv("DEBUGINFOD_MAXTIME"), 0),
		MaxSize:      max(number(getenv("DEBUGINFOD_MAXSIZE"), 0), 0),
		Retries:      int(min(max(number(getenv("DEBUGINFOD_RETRY_LIMIT"), defaultRetries), 0), 100)),
		HeadersFile:  getenv("DEBUGINFOD_HEADERS_FILE"),
		WantProgress: getenv("DEBUGINFOD_PROGRESS") != "",
		WantVerbose:  getenv("DEBUGINFOD_VERBOSE") != "",
		defaultDir:   byDefault,
	}
}

// Waiting is the configuration for a caller who waits for each file, and has others to ask for: the
// time that one file may take without anything coming holds for all together.
func (c Config) Waiting() Config {
	c.Whole = c.Timeout
	if c.MaxTime > 0 && (c.Whole == 0 || c.MaxTime < c.Whole) {
		c.Whole = c.MaxTime
	}
	return c
}

// cacheDir is where elfutils' client keeps its files; "" when there is no home.
func cacheDir(getenv func(string) string) (dir string, byDefault bool) {
	if dir := getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir, false
	}
	home := getenv("HOME")
	if home != "" {
		old := filepath.Join(home, ".debuginfod_client_cache")
		if _, err := os.Stat(old); err == nil {
			return old, true
		}
	}
	if xdg := getenv("XDG_CACHE_HOME"); xdg != "" {
		return filepath.Join(xdg, "debuginfod_client"), true
	}
	if home == "" {
		return "", true
	}
	return filepath.Join(home, ".cache", "debuginfod_client"), true
}

// number is a decimal number with what may follow it, as atol(3) reads it.
func number(s string, otherwise int64) int64 {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// seconds is a time; zero and less are no limit.
func seconds(s string, otherwise time.Duration) time.Duration {
	n := number(s, -1)
	switch {
	case s == "":
		return otherwise
	case n <= 0:
		return 0
	}
	return time.Duration(min(n, 1e9)) * time.Second
}
