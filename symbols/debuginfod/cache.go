package debuginfod

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A cache is the directory that elfutils' client keeps files in. All access is
// relative to the open directory, so that no name and no link leads out of it.
type cache struct {
	dir  string
	root *os.Root
}

// The control files and what they say when they are made, in seconds.
const (
	cleanFile, cleanDefault = "cache_clean_interval_s", 86400
	missFile, missDefault   = "cache_miss_s", 600
	ageFile, ageDefault     = "max_unused_age_s", 604800
)

// errKnownMissing says that a server was asked a short time ago.
var errKnownMissing = fmt.Errorf("%w; asked less than %s ago", ErrNotFound, missFile)

// openCache opens the directory and makes it where there is none. A debugger is often run by root
// with another user's HOME: files that this user may not read must not be put there, and anything
// could have been put there before.
func openCache(dir string, byDefault bool) (*cache, error) {
	if dir == "" {
		return nil, errors.New("no directory for downloads: set DEBUGINFOD_CACHE_PATH")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if byDefault {
		info, err := root.Stat(".")
		if err == nil && !belongs(info) {
			err = fmt.Errorf("%s: belongs to another user; set DEBUGINFOD_CACHE_PATH", dir)
		}
		if err != nil {
			_ = root.Close()
			return nil, err
		}
	}
	return &cache{dir, root}, nil
}

func (c *cache) close() { _ = c.root.Close() }

// path is what the rest of the world calls a file of the cache.
func (c *cache) path(name string) string { return filepath.Join(c.dir, name) }

// find is a target's file. The error is fs.ErrNotExist when the servers have to be
// asked, and ErrNotFound when they were a short time ago.
func (c *cache) find(t target) (string, error) {
	for _, name := range t.names() {
		name = filepath.Join(t.id, name)
		info, err := c.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s: not a regular file", c.path(name))
		case info.Size() == 0:
			if age := time.Since(info.ModTime()); age >= 0 && age <= c.control(missFile, missDefault) {
				return "", errKnownMissing
			}
			_ = c.root.Remove(name) // whoever comes first
			continue
		}
		if err := c.usable(t, name); err != nil {
			_ = c.root.Remove(name)
			continue
		}
		// elfutils goes by the time of the last access, which many systems keep badly.
		_ = c.root.Chtimes(name, time.Now(), info.ModTime())
		return c.path(name), nil
	}
	return "", fs.ErrNotExist
}

// usable opens a cached file; one that is damaged, of another build ID or without
// permissions is as good as none.
func (c *cache) usable(t target, name string) error {
	f, err := c.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if !t.kind.isELF() {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return verify(f, info.Size(), t.id)
}

// extract takes a section from a file of the same build ID that is here already,
// whose build ID, other than a server's section, can be verified.
func (c *cache) extract(t target) (string, error) {
	for _, k := range []kind{debugInfo, executable} {
		path, err := c.find(target{kind: k, id: t.id})
		if err != nil {
			continue
		}
		f, err := c.root.Open(filepath.Join(t.id, filepath.Base(path)))
		if err != nil {
			continue
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			continue
		}
		im, err := readImage(f, info.Size())
		if err != nil {
			continue
		}
		b := im.contents(t.arg)
		if b == nil || b.Size() == 0 || b.Size() > t.kind.limit() {
			continue
		}
		d, err := c.draft(t)
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(d.f, b); err != nil {
			d.drop()
			return "", err
		}
		return d.keep(time.Now())
	}
	return "", fs.ErrNotExist
}

// A draft is a file under way. It has its name only when it is whole.
type draft struct {
	c    *cache
	t    target
	name string // in the cache
	f    *os.File
}

func (c *cache) draft(t target) (*draft, error) {
	name := filepath.Join(t.id, t.names()[0]+"."+rand.Text()[:len(tempSuffix)-1])
	for again := range 2 { // another process may be removing the empty directory
		if err := c.root.Mkdir(t.id, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		f, err := c.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			return &draft{c, t, name, f}, nil
		}
		if again == 1 || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fs.ErrNotExist
}

// drop removes the file, and its directory if it was the first.
func (d *draft) drop() {
	_ = d.f.Close()
	_ = d.c.root.Remove(d.name)
	_ = d.c.root.Remove(d.t.id)
}

// keep gives the file its name. It is linked under the name of other versions of
// elfutils too, where they differ.
func (d *draft) keep(modified time.Time) (string, error) {
	names := d.t.names()
	final := filepath.Join(d.t.id, names[0])
	err := errors.Join(d.f.Chmod(0o400), d.f.Close())
	if err == nil {
		err = d.c.root.Chtimes(d.name, time.Now(), modified)
	}
	if err == nil {
		err = d.c.root.Rename(d.name, final)
	}
	if err != nil {
		d.drop()
		return "", err
	}
	for _, other := range names[1:] {
		_ = d.c.root.Link(final, filepath.Join(d.t.id, other)) // only saves others a download
	}
	return d.c.path(final), nil
}

// miss notes that no server has the target, by an empty file.
func (c *cache) miss(t target) {
	_ = c.root.Mkdir(t.id, 0o700)
	if f, err := c.root.OpenFile(filepath.Join(t.id, t.names()[0]), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// control reads a control file, and makes it where there is none.
func (c *cache) control(name string, otherwise int64) time.Duration {
	f, err := c.root.Open(name)
	if err != nil {
		if f, err := c.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			_, _ = f.WriteString(strconv.FormatInt(otherwise, 10))
			_ = f.Close()
		}
		return time.Duration(otherwise) * time.Second
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		b = nil
	}
	return time.Duration(min(max(number(string(b), otherwise), 0), 1e9)) * time.Second
}

// clean removes what was not read for long, if that was not done lately.
func (c *cache) clean() {
	interval := c.control(cleanFile, cleanDefault)
	age := c.control(ageFile, ageDefault)
	info, err := c.root.Stat(cleanFile)
	if err != nil || time.Since(info.ModTime()) < interval {
		return
	}
	now := time.Now()
	_ = c.root.Chtimes(cleanFile, now, now) // first, lest others begin too
	dirs, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if !dir.IsDir() || !isHex(dir.Name()) {
			continue
		}
		files, err := fs.ReadDir(c.root.FS(), dir.Name())
		if err != nil {
			continue
		}
		for _, file := range files {
			info, err := file.Info()
			if err == nil && info.Mode().IsRegular() && isCached(file.Name()) && now.Sub(accessed(info)) >= age {
				_ = c.root.Remove(filepath.Join(dir.Name(), file.Name()))
			}
		}
		if info, err := dir.Info(); err == nil && now.Sub(info.ModTime()) >= age {
			_ = c.root.Remove(dir.Name()) // fails unless it is empty
		}
	}
}

// isHex tells the names of directories.
func isHex(s string) bool {
	_, err := hex.DecodeString(s + s)
	return err == nil && s == strings.ToLower(s) && s != ""
}

// isCached tells the names of files that clients make, also of unfinished ones.
func isCached(s string) bool {
	for _, start := range []string{"debuginfo", "executable", "source", "section", "hdr-", "metadata"} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	return false
}
