package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
)

// lateModules are the files that an opened capture speaks of, as far as they are
// where it is looked at. They are opened on first use: a capture with all names in
// it needs none of them.
type lateModules struct {
	all   map[int]*lateModule // by index in the capture's modules
	names map[codeKey][]capture.Frame
	again bool // what the capture kept is looked for again
}

// A lateModule is a file that was found for a module, or why none was.
type lateModule struct {
	obj  *symbols.Object
	err  error
	said bool // that a file was refused
}

func newLateModules() lateModules {
	return lateModules{all: map[int]*lateModule{}, names: map[codeKey][]capture.Frame{}}
}

func (l *lateModules) close() error {
	var errs []error
	for _, m := range l.all {
		if m.obj != nil {
			errs = append(errs, m.obj.Close())
		}
	}
	*l = newLateModules()
	return errors.Join(errs...)
}

// lateModule is the file of module i of the capture.
func (s *Session) lateModule(i int) *lateModule {
	if m := s.late.all[i]; m != nil {
		return m
	}
	m := &lateModule{}
	mod := s.saved.Modules()[i]
	if mod.Path == "" && mod.BuildID == "" {
		m.err = errors.New("not a file")
	} else {
		m.obj, m.err = s.findModule(mod)
	}
	s.late.all[i] = m
	return m
}

// wrongFileError says that a file is not the one that ran.
type wrongFileError struct {
	path, have, want string
}

func (e *wrongFileError) Error() string {
	return fmt.Sprintf("%s: %s, the capture has %s: not used", e.path, e.have, e.want)
}

// findModule opens the file of a module: by its path, below the sysroot first,
// beside the capture, or by build ID below the debug directories.
func (s *Session) findModule(m capture.Module) (*symbols.Object, error) {
	paths := s.modulePaths(m)
	var refused error
	for _, path := range paths {
		obj, err := symbols.Open(path, s.mods.config())
		if err == nil {
			if err = s.sameFile(obj, path, m); err == nil {
				return obj, nil
			}
			obj.Close()
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) {
			refused = err
		}
	}
	obj, err := s.mods.openFetched(m.BuildID)
	switch {
	case err == nil && obj != nil:
		return obj, nil
	case refused != nil:
		return nil, refused
	}
	what := "file"
	if m.BuildID != "" {
		what = "file with build ID " + m.BuildID
	}
	missing := fmt.Errorf("%s: no such %s (looked at %s)", savedName(m), what, strings.Join(paths, ", "))
	if err != nil {
		missing = fmt.Errorf("%w; %w", missing, err)
	}
	return nil, missing
}

// procPath is how a file of another mount namespace was opened.
var procPath = regexp.MustCompile(`^/proc/[0-9]+/(root(/.*)|.*)$`)

func (s *Session) modulePaths(m capture.Module) []string {
	var paths []string
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	path := m.Path
	if found := procPath.FindStringSubmatch(path); found != nil {
		path = found[2] // "" for /proc/PID/exe, which is another program by now
	}
	if path != "" {
		if s.Settings.Sysroot != "" {
			add(filepath.Join(s.Settings.Sysroot, path))
		}
		add(path)
		add(filepath.Join(filepath.Dir(s.savedPath), filepath.Base(path)))
	}
	if id := m.BuildID; len(id) > 4 && isHex(id) {
		for _, dir := range s.Settings.DebugDirs {
			base := filepath.Join(s.Settings.Sysroot, dir, ".build-id", id[:2], id[2:])
			add(base)
			add(base + ".debug")
		}
	}
	return paths
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// sameFile is nil when obj is the file that ran: by build ID, or where there is
// none, by not having been changed since.
func (s *Session) sameFile(obj *symbols.Object, path string, m capture.Module) error {
	switch id := obj.BuildID(); {
	case id != m.BuildID:
		return &wrongFileError{path, idText(id), idText(m.BuildID)}
	case id != "":
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if start := s.saved.Info().Start; st.ModTime().After(start) {
		const layout = "2006-01-02 15:04:05 MST"
		return &wrongFileError{path, "no build ID and changed " + st.ModTime().UTC().Format(layout), "begun " + start.Format(layout)}
	}
	return nil
}

func idText(id string) string {
	if id == "" {
		return "no build ID"
	}
	return "build ID " + id
}

// savedChain is the function chain of a code address of the capture: what it kept,
// or what the files say of it that are here.
func (s *Session) savedChain(c addr.Code, seq uint64) []capture.Frame {
	kept, ok := s.saved.Symbol(c.Addr(), c.IsReturn(), seq)
	if ok && !s.late.again {
		return kept
	}
	found := s.lateChain(c, seq)
	if len(found) == 0 || knowledge(found) < knowledge(kept) {
		return kept
	}
	return found
}

// knowledge orders chains by how much they tell: where the names come from, then
// whether there are lines, then the number of functions.
func knowledge(chain []capture.Frame) int {
	if len(chain) == 0 {
		return -1
	}
	most := min(len(chain), 1<<8-1)
	for _, f := range chain {
		if f.Line > 0 {
			most |= 1 << 8
		}
	}
	return most | int(provenance(chain[len(chain)-1].Source))<<9
}

func (s *Session) lateChain(c addr.Code, seq uint64) []capture.Frame {
	i := s.savedModuleAt(c.Lookup(), seq)
	if i < 0 {
		return nil
	}
	key := codeKey{c, i}
	if frames, ok := s.late.names[key]; ok {
		return frames
	}
	var frames []capture.Frame
	bias := s.saved.Modules()[i].Bias
	m := s.lateModule(i)
	s.tellRefused(m)
	if m.obj != nil {
		for _, f := range lookUp(m.obj, bias, c) {
			frames = append(frames, captureFrame(f, c, bias))
		}
	}
	if len(s.late.names) >= maxNames {
		clear(s.late.names)
	}
	s.late.names[key] = frames
	return frames
}

// tellRefused says once that a module's file is another one, when something was
// wanted of it.
func (s *Session) tellRefused(m *lateModule) {
	var wrong *wrongFileError
	if errors.As(m.err, &wrong) && !m.said {
		m.said = true
		s.notify("%v", m.err)
	}
}

// savedModuleAt is the index of the module of the capture that pc lay in, -1
// without.
func (s *Session) savedModuleAt(pc addr.Run, seq uint64) int {
	mods := s.saved.Modules()
	if i := slices.IndexFunc(mods, func(m capture.Module) bool { return m.Holds(pc, seq) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(mods, func(m capture.Module) bool { return m.Low <= pc && pc < m.High })
}

// lateObjects are the files of the capture's modules that are here, each once, the
// program first.
func (s *Session) lateObjects() []loaded {
	var out []loaded
	for i, m := range s.saved.Modules() {
		if m.Path == "" || slices.ContainsFunc(out, func(l loaded) bool { return l.path == m.Path && l.bias == m.Bias }) {
			continue
		}
		late := s.lateModule(i)
		if late.obj == nil {
			continue
		}
		l := loaded{obj: late.obj, bias: m.Bias, name: m.Path, path: m.Path, low: m.Low, high: m.High}
		if m.Path == s.saved.Info().Program {
			out = append([]loaded{l}, out...)
		} else {
			out = append(out, l)
		}
	}
	return out
}
