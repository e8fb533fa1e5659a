package names

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hdb/internal/units"
	"hdb/symbols/debuginfod"
)

// DebuginfodMode says whether servers are asked for debug files and sources.
type DebuginfodMode string

// The modes. With DebuginfodAsk nothing is asked until the user has said yes.
const (
	DebuginfodOff DebuginfodMode = "off"
	DebuginfodOn  DebuginfodMode = "on"
	DebuginfodAsk DebuginfodMode = "ask"
)

// Debuginfod fetches what debuginfod servers have of the session's modules. What is
// not in the cache comes in the background: until then it counts as missing. Its
// lock is taken last. All methods may be called from any goroutine.
type Debuginfod struct {
	notify  func(string)
	fetched func(Fetched)

	mu      sync.Mutex
	cfg     debuginfod.Config
	client  *debuginfod.Client // nil before something is wanted
	mode    DebuginfodMode
	wait    bool                // downloads are waited for: there is no prompt
	ctx     context.Context     // of all downloads,
	cancel  context.CancelFunc  // ends them
	wanted  map[Download]string // in mode ask: what was asked for
	states  map[Download]*download
	running int
	ended   Fetched // downloads that ended since there were none under way
	arrived bool    // a file has arrived since modules were opened

	noWait atomic.Int32 // callers that must not wait
}

// A Download names a file: debug info, or a source when File is set.
type Download struct {
	BuildID, File string
}

func (d Download) String() string {
	if d.File != "" {
		return d.File
	}
	return "debug info of build ID " + d.BuildID
}

// Fetched is what became of downloads, told once none is under way.
type Fetched struct {
	Files  int      // that arrived and that no caller waited for
	Last   Download // of these
	Failed int      // files that a server may have, but that could not be fetched
	Err    error    // why the last of these was not
}

// String says it in one line, "" of nothing.
func (f Fetched) String() string {
	var parts []string
	switch {
	case f.Files == 1:
		parts = append(parts, f.Last.String()+" has arrived")
	case f.Files > 1:
		parts = append(parts, units.CountVerb(f.Files, "file", "has", "have")+" arrived")
	}
	switch {
	case f.Failed == 1 && f.Files == 0:
		return f.Err.Error()
	case f.Failed > 0:
		parts = append(parts, fmt.Sprintf("%d could not be fetched", f.Failed))
	}
	if len(parts) == 0 {
		return ""
	}
	return "debuginfod: " + strings.Join(parts, "; ")
}

type download struct {
	path       string
	err        error         // why it is not here
	done       chan struct{} // closed when it is known
	at         debuginfod.Progress
	reportedAt time.Time // when its progress was last said
}

// ErrOnTheWay is why something is not here yet.
var ErrOnTheWay = errors.New("being downloaded: used at the next stop, or by `symbols refresh`")

func newDebuginfod(notify func(string), fetched func(Fetched)) *Debuginfod {
	d := &Debuginfod{notify: notify, fetched: fetched, mode: DebuginfodOff, wait: true, wanted: map[Download]string{}, states: map[Download]*download{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.cfg = debuginfod.FromEnv(os.Getenv)
	return d
}

// Configure takes the servers from a configuration. wait says that whoever wants a file waits for
// it, as a later arrival would be seen by no one.
func (d *Debuginfod) Configure(cfg debuginfod.Config, wait bool) {
	d.stop(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg, d.wait = cfg, wait
}

// Mode is whether servers are asked.
func (d *Debuginfod) Mode() DebuginfodMode {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mode
}

// Servers are those to ask.
func (d *Debuginfod) Servers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open().Servers()
}

// CacheDir is where files are kept.
func (d *Debuginfod) CacheDir() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg.CacheDir
}

// SetMode changes the mode. Off ends what is under way; on begins what was wanted.
func (d *Debuginfod) SetMode(mode DebuginfodMode) {
	if mode != DebuginfodOn {
		d.stop(false)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mode = mode
	if mode == DebuginfodOn && !d.wait {
		for what := range d.wanted {
			d.begin(what)
		}
	}
	clear(d.wanted)
}

// stop ends all downloads; with forget the client too.
func (d *Debuginfod) stop(forget bool) {
	d.mu.Lock()
	d.cancel()
	d.ctx, d.cancel = context.WithCancel(context.Background())
	client := d.client
	if forget {
		d.client = nil
	}
	d.mu.Unlock()
	if client != nil && forget {
		client.Close()
	}
}

// Waiting is the number of files that wait for the user to allow downloads.
func (d *Debuginfod) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mode != DebuginfodAsk || len(d.cfg.URLs) == 0 {
		return 0
	}
	return len(d.wanted)
}

// DebugInfo is the path of a debug file. It is the symbols.Fetcher of all modules.
func (d *Debuginfod) DebugInfo(buildID string) (string, error) {
	return d.get(Download{BuildID: buildID}, 0)
}

// find is a server's debug file with that build ID, "" when there is no server to ask.
func (d *Debuginfod) find(buildID string) (string, error) {
	if buildID == "" || d.Mode() == DebuginfodOff {
		return "", nil
	}
	return d.DebugInfo(buildID)
}

// sourceWait is how long a source file is waited for at most: servers have most at once.
const sourceWait = 700 * time.Millisecond

func (d *Debuginfod) source(buildID, file string) (string, error) {
	return d.get(Download{buildID, file}, sourceWait)
}

// get returns the path of a file, or the reason why it is not here, such as a download
// under way. It waits for at most patience, unless downloads are waited for.
func (d *Debuginfod) get(what Download, patience time.Duration) (string, error) {
	d.mu.Lock()
	if d.mode == DebuginfodOff || len(d.cfg.URLs) == 0 {
		d.mu.Unlock()
		return "", errors.New("debuginfod is off: `set debuginfod on`, with servers in DEBUGINFOD_URLS, fetches it")
	}
	if path, err := d.cached(what); err == nil || !errors.Is(err, debuginfod.ErrNotCached) {
		d.mu.Unlock()
		return path, err
	}
	if d.mode == DebuginfodAsk {
		d.wanted[what] = ""
		d.mu.Unlock()
		return "", errors.New("the servers were not asked: `set debuginfod on` fetches it")
	}
	if d.states[what] != nil {
		patience = 0
	}
	st := d.begin(what)
	wait := d.wait && d.noWait.Load() == 0
	if !wait && d.wait {
		patience = 0
	}
	d.mu.Unlock()
	var limit <-chan time.Time
	if !wait {
		limit = time.After(patience)
	}
	select {
	case <-st.done: // first, so that a known reason is returned rather than ErrOnTheWay
		return st.path, st.err
	default:
	}
	select {
	case <-st.done:
		return st.path, st.err
	case <-limit:
		return "", ErrOnTheWay
	}
}

// DoNotWait makes no caller wait for a file until the returned function is called.
func (d *Debuginfod) DoNotWait() func() {
	d.noWait.Add(1)
	return func() { d.noWait.Add(-1) }
}

// waiting is the context of the downloads that are waited for; nil when none are.
func (d *Debuginfod) waiting() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wait || d.mode != DebuginfodOn || len(d.cfg.URLs) == 0 {
		return nil
	}
	return d.ctx
}

// open is the client. The caller holds mu.
func (d *Debuginfod) open() *debuginfod.Client {
	if d.client == nil {
		cfg := d.cfg
		if d.wait {
			cfg = cfg.Waiting()
		}
		cfg.Progress = d.progress
		if cfg.WantVerbose {
			cfg.Verbose = d.notify
		}
		d.client = debuginfod.New(cfg)
	}
	return d.client
}

func (d *Debuginfod) cached(what Download) (string, error) {
	if what.File != "" {
		return d.open().CachedSource(what.BuildID, what.File)
	}
	return d.open().CachedDebugInfo(what.BuildID)
}

// begin starts a download that is neither under way nor has failed before. The caller
// holds mu.
func (d *Debuginfod) begin(what Download) *download {
	if st := d.states[what]; st != nil {
		return st
	}
	st := &download{done: make(chan struct{})}
	d.states[what] = st
	d.running++
	ctx, client := d.ctx, d.open()
	go func() {
		path, err := "", error(nil)
		if what.File != "" {
			path, err = client.Source(ctx, what.BuildID, what.File)
		} else {
			path, err = client.DebugInfo(ctx, what.BuildID)
		}
		d.finish(what, st, path, err)
	}()
	return st
}

// finish takes the end of a download, and tells what came when it was the last one.
func (d *Debuginfod) finish(what Download, st *download, path string, err error) {
	d.mu.Lock()
	st.path, st.err = path, err
	close(st.done)
	d.running--
	switch {
	case err == nil:
		d.arrived = true
		if !d.wait {
			d.ended.Files++
			d.ended.Last = what
		}
	case errors.Is(err, context.Canceled):
		delete(d.states, what) // when it is wanted again, it begins again
	case errors.Is(err, debuginfod.ErrNotFound): // as usual; Downloads tells
	default:
		d.ended.Failed++
		d.ended.Err = err
	}
	var ended Fetched
	if d.running == 0 {
		ended, d.ended = d.ended, Fetched{}
	}
	d.mu.Unlock()
	if ended.Files+ended.Failed > 0 {
		d.fetched(ended)
	}
}

// progressEvery is how often the progress of a download is reported.
const progressEvery = 2 * time.Second

// progress is called on the goroutine of a download.
func (d *Debuginfod) progress(p debuginfod.Progress) {
	file := ""
	if rest, ok := strings.CutPrefix(p.What, "source "); ok {
		file = rest
	}
	d.mu.Lock()
	st := d.states[Download{p.BuildID, file}]
	say := false
	if st != nil {
		st.at = p
		say = d.cfg.WantProgress && time.Since(st.reportedAt) >= progressEvery
		if say {
			st.reportedAt = time.Now()
		}
	}
	d.mu.Unlock()
	switch {
	case !say:
	case p.Total > 0:
		d.notify(fmt.Sprintf("debuginfod: %s of build ID %s: %d of %d KiB from %s", p.What, p.BuildID, p.Done>>10, p.Total>>10, p.Server))
	default:
		d.notify(fmt.Sprintf("debuginfod: %s of build ID %s: %d KiB from %s", p.What, p.BuildID, p.Done>>10, p.Server))
	}
}

// takeArrived reports whether something arrived since the last time it was asked.
func (d *Debuginfod) takeArrived() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	arrived := d.arrived
	d.arrived = false
	return arrived
}

// forgetFailures lets what failed be tried again.
func (d *Debuginfod) forgetFailures() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for what, st := range d.states {
		if st.err != nil {
			delete(d.states, what)
		}
	}
}

// Interrupt ends downloads that a caller waits for.
func (d *Debuginfod) Interrupt() {
	d.mu.Lock()
	wait := d.wait && d.running > 0
	d.mu.Unlock()
	if wait {
		d.stop(false)
	}
}

// Close ends all downloads.
func (d *Debuginfod) Close() {
	d.SetMode(DebuginfodOff)
	d.stop(true)
}

// DownloadStatus is how far a download is.
type DownloadStatus struct {
	Download
	Path        string // "" unless it is here
	Err         error  // why it could not be fetched
	Done, Total int64  // bytes, of one under way; Total is -1 when it is not known
}

// Downloads are the files asked for in this session.
func (d *Debuginfod) Downloads() []DownloadStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	var rows []DownloadStatus
	for what, st := range d.states {
		rows = append(rows, DownloadStatus{what, st.path, st.err, st.at.Done, st.at.Total})
	}
	slices.SortFunc(rows, func(a, b DownloadStatus) int {
		return strings.Compare(a.File+"\x00"+a.BuildID, b.File+"\x00"+b.BuildID)
	})
	return rows
}

// OnTheWay are the files that are being fetched.
func (d *Debuginfod) OnTheWay() []DownloadStatus {
	return slices.DeleteFunc(d.Downloads(), func(row DownloadStatus) bool { return row.Path != "" || row.Err != nil })
}
