package names

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
	"hdb/symbols"
)

// A Capture is a saved recording with the names and source lines that it kept.
type Capture interface {
	Info() capture.Info
	Modules() []capture.Module
	Symbol(pc addr.Run, isReturn bool, seq uint64) ([]capture.Frame, bool)
	Frames() iter.Seq[capture.Frame] // all that Symbol knows
	GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool)
	SourceFiles() []string
	SourceLines(file string) []capture.Excerpt
}

// opened is a capture and the files that it speaks of, as far as they are where it is
// looked at. They are opened on first use: a capture with all names in it needs none of
// them.
type opened struct {
	Capture
	r     *Resolver
	path  string              // absolute
	files map[int]*openedFile // by index in the capture's modules
	names map[codeKey][]capture.Frame
	again bool // files are asked before what the capture kept
}

// An openedFile is a file that was found for a module, or why none was.
type openedFile struct {
	obj    *symbols.Object
	err    error
	warned bool // the user was warned that the file is not the one that ran
}

// OpenCapture makes the capture at an absolute path what is asked for names. The one
// before is closed already.
func (r *Resolver) OpenCapture(c Capture, path string) {
	r.opened = &opened{Capture: c, r: r, path: path}
	r.opened.forget()
}

// ReplaceCapture takes the same capture, written anew.
func (r *Resolver) ReplaceCapture(c Capture) { r.opened.Capture = c }

// CloseCapture closes the files of the opened capture, but not the capture.
func (r *Resolver) CloseCapture() error {
	if r.opened == nil {
		return nil
	}
	err := r.opened.close()
	r.opened = nil
	return err
}

func (o *opened) forget() {
	o.files, o.names, o.again = map[int]*openedFile{}, map[codeKey][]capture.Frame{}, false
}

func (o *opened) close() error {
	var errs []error
	for _, m := range o.files {
		if m.obj != nil {
			errs = append(errs, m.obj.Close())
		}
	}
	o.forget()
	return errors.Join(errs...)
}

// file is the file of module i of the capture.
func (o *opened) file(i int) *openedFile {
	if m := o.files[i]; m != nil {
		return m
	}
	m := &openedFile{}
	mod := o.Modules()[i]
	if mod.Path == "" && mod.BuildID == "" {
		m.err = errors.New("not a file")
	} else {
		m.obj, m.err = o.find(mod)
	}
	o.files[i] = m
	return m
}

// wrongFileError says that a file is not the one that ran.
type wrongFileError struct {
	path, have, want string
}

func (e *wrongFileError) Error() string {
	return fmt.Sprintf("%s: %s, the capture has %s: not used", e.path, e.have, e.want)
}

// find opens the file of a module: by its path, below the sysroot first, next to the capture, or by
// build ID below the debug directories.
func (o *opened) find(m capture.Module) (*symbols.Object, error) {
	paths := o.paths(m)
	var refused error
	for _, path := range paths {
		obj, err := symbols.Open(path, o.r.files.config())
		if err == nil {
			if err = o.sameFile(obj, path, m); err == nil {
				return obj, nil
			}
			obj.Close()
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) {
			refused = err
		}
	}
	obj, err := o.r.files.fetch(m.BuildID)
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
	missing := fmt.Errorf("%s: no such %s (searched %s)", ModuleName(m), what, strings.Join(paths, ", "))
	if err != nil {
		missing = fmt.Errorf("%w; %w", missing, err)
	}
	return nil, missing
}

// procPath is how a file of another mount namespace was opened.
var procPath = lazyregexp.New(`^/proc/[0-9]+/(root(/.*)|.*)$`)

func (o *opened) paths(m capture.Module) []string {
	var paths []string
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	path := m.Path
	if found := procPath().FindStringSubmatch(path); found != nil {
		path = found[2] // "" for /proc/PID/exe, which is another program by now
	}
	set := o.r.cfg.Settings
	if path != "" {
		if set.Sysroot != "" {
			add(filepath.Join(set.Sysroot, path))
		}
		add(path)
		add(filepath.Join(filepath.Dir(o.path), filepath.Base(path)))
	}
	if id := m.BuildID; len(id) > 4 && isHex(id) {
		for _, dir := range set.DebugDirs {
			base := filepath.Join(set.Sysroot, dir, ".build-id", id[:2], id[2:])
			add(base)
			add(base + ".debug")
		}
	}
	return paths
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// sameFile is nil when obj is the file that ran: by build ID, Go's own if there is no other, or where
// there is none, by not having been changed since.
func (o *opened) sameFile(obj *symbols.Object, path string, m capture.Module) error {
	switch id := obj.File.BuildID(); {
	case id != m.BuildID:
		return &wrongFileError{path, idText(id), idText(m.BuildID)}
	case id != "":
		return nil
	case m.GoBuildID != "":
		if id := obj.File.GoBuildID(); id != m.GoBuildID {
			return &wrongFileError{path, goIDText(id), goIDText(m.GoBuildID)}
		}
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if start := o.Info().Start; st.ModTime().After(start) {
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

func goIDText(id string) string {
	if id == "" {
		return "no Go build ID"
	}
	return "Go build ID " + id
}

// chain is the function chain of a code address of the capture: what it kept,
// or what the files say of it that are here.
func (o *opened) chain(c addr.Code, seq uint64) []capture.Frame {
	kept, ok := o.Symbol(c.Addr(), c.IsReturn(), seq)
	if ok && !o.again {
		return kept
	}
	found := o.fileChain(c, seq)
	if len(found) == 0 || knowledge(found) < knowledge(kept) {
		return kept
	}
	return found
}

// fileChain is what the file of a module of the capture says of a code address.
func (o *opened) fileChain(c addr.Code, seq uint64) []capture.Frame {
	i := moduleIndex(o.Modules(), c.Lookup(), seq)
	if i < 0 {
		return nil
	}
	key := codeKey{c, i}
	if frames, ok := o.names[key]; ok {
		return frames
	}
	var frames []capture.Frame
	bias := o.Modules()[i].Bias
	m := o.file(i)
	o.tellRefused(m)
	if m.obj != nil {
		frames = o.r.captureFrames(m.obj, bias, c)
	}
	if len(o.names) >= maxNames {
		clear(o.names)
	}
	o.names[key] = frames
	return frames
}

// tellRefused says once that a module's file is another one, when something was
// wanted of it.
func (o *opened) tellRefused(m *openedFile) {
	var wrong *wrongFileError
	if errors.As(m.err, &wrong) && !m.warned {
		m.warned = true
		o.r.notify("%v", m.err)
	}
}

// images are the files of the capture's modules that are here, each once, the
// program first.
func (o *opened) images() []Image {
	var out []Image
	for i, m := range o.Modules() {
		if m.Path == "" || slices.ContainsFunc(out, func(l Image) bool { return l.Path == m.Path && l.Bias == m.Bias }) {
			continue
		}
		file := o.file(i)
		if file.obj == nil {
			continue
		}
		l := Image{Object: file.obj, Bias: m.Bias, Name: m.Path, Path: m.Path, low: m.Low, high: m.High}
		if m.Path == o.Info().Program {
			out = slices.Insert(out, 0, l)
		} else {
			out = append(out, l)
		}
	}
	return out
}

func (o *opened) moduleInfos() []ModuleInfo {
	var rows []ModuleInfo
	for _, m := range o.Modules() {
		rows = append(rows, ModuleInfo{Path: m.Path, Name: ModuleName(m), Low: m.Low, High: m.High, Bias: m.Bias, BuildID: m.BuildID, Debug: "kept in the capture"})
	}
	return rows
}
