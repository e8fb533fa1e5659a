// Package diskcache keeps on disk what takes long to make anew from files that seldom
// change, such as the names of functions.
//
// Whoever finds nothing here makes the thing itself, so nothing here is an error: a file
// that is missing, cut, damaged, too long, of another version of the program, or not the
// user's own counts as none. What is found passed a checksum, which tells damage but not
// malice: readers check what they read as they check any file.
package diskcache

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A Dir is a directory of kept things. The nil Dir keeps nothing. It is safe for
// concurrent use, also by several processes.
type Dir struct {
	path    string
	maker   string
	limit   int64        // bytes of all files
	trimmed atomic.Bool  // by this process
	added   atomic.Int64 // bytes since then
}

// maxSize bounds all files together, in bytes; the oldest go first.
const maxSize = 256 << 20

// maxEntry bounds one file, in bytes.
const maxEntry = 32 << 20

// Open is the directory at path, which is made when something is first kept. maker is
// what else than the key the things depend on: the program's version, see FileID.
func Open(path, maker string) *Dir {
	if path == "" || maker == "" {
		return nil
	}
	return &Dir{path: path, maker: maker, limit: maxSize}
}

// A file is
//
//	"hdbkept1" | SHA-256 of maker, kind and key | CRC-32C of the contents, uint32 | contents
const (
	magic      = "hdbkept1"
	headerSize = len(magic) + sha256.Size + 4
)

// name is a thing's file and the beginning of its contents.
func (d *Dir) name(kind, key string) (file string, header []byte) {
	h := sha256.New()
	for _, part := range []string{d.maker, kind, key} {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(part))) // a Hash returns no error
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)
	return kind + "-" + hex.EncodeToString(sum[:nameSize]), append([]byte(magic), sum...)
}

// nameSize is how many bytes of the hash are in a file's name.
const nameSize = 16

// isName tells the names of files that Put has made.
func isName(file string) bool {
	kind, sum, ok := strings.Cut(file, "-")
	_, err := hex.DecodeString(sum)
	return ok && kind != "" && err == nil && len(sum) == 2*nameSize
}

func checksum(contents []byte) uint32 {
	return crc32.Checksum(contents, crc32.MakeTable(crc32.Castagnoli))
}

// open is the directory, nil unless it is the user's own and no link. A debugger is often run by
// root with another user's HOME, who could have files written and removed elsewhere by what is put
// there.
func (d *Dir) open() *os.Root {
	named, err := os.Lstat(d.path)
	if err != nil || !named.IsDir() || !belongs(named) {
		return nil
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(named, opened) {
		_ = root.Close()
		return nil
	}
	return root
}

// create makes the directory where there is none, but nothing in another user's directory, for whom
// root's directories would be in the way.
func (d *Dir) create() {
	for dir := d.path; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil && dir != filepath.Dir(dir) {
			continue
		}
		if err == nil && dir != d.path && (belongs(info) || belongsToRoot(info)) {
			_ = os.MkdirAll(d.path, 0o700) // without it open finds none
		}
		return
	}
}

// Get is what was last kept under the key, nil without. kind is part of the file's
// name, and of letters and digits.
func (d *Dir) Get(kind, key string) []byte {
	if d == nil || key == "" {
		return nil
	}
	root := d.open()
	if root == nil {
		return nil
	}
	defer root.Close()
	file, header := d.name(kind, key)
	b := readOwn(root, file, int64(headerSize)+maxEntry)
	if len(b) < headerSize || string(b[:len(header)]) != string(header) {
		return nil
	}
	contents := b[headerSize:]
	if binary.LittleEndian.Uint32(b[len(header):]) != checksum(contents) {
		return nil
	}
	return contents
}

// readOwn reads a file that belongs to the user and that no other user may write; nil otherwise,
// and if it is longer than the limit.
func readOwn(root *os.Root, file string, limit int64) []byte {
	named, err := root.Lstat(file)
	if err != nil || !named.Mode().IsRegular() { // to open a pipe would wait
		return nil
	}
	f, err := root.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(named, info) || !belongs(info) || info.Mode().Perm()&0o022 != 0 || info.Size() > limit {
		return nil
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	return b
}

// Put keeps the contents under the key, in place of what was there. Readers see the
// one or the other. Without room or rights nothing is kept.
func (d *Dir) Put(kind, key string, contents []byte) {
	if d == nil || key == "" || len(contents) > maxEntry {
		return
	}
	d.create()
	root := d.open()
	if root == nil {
		return
	}
	defer root.Close()
	file, header := d.name(kind, key)
	header = binary.LittleEndian.AppendUint32(header, checksum(contents))
	if !write(root, file, append(header, contents...)) {
		return
	}
	// To look at all files takes long when there are many: not for each new one.
	if d.added.Add(int64(headerSize+len(contents))) > d.limit/64 || !d.trimmed.Swap(true) {
		d.added.Store(0)
		d.trim(root)
	}
}

// unfinished is how the names of files begin that are being written.
const unfinished = ".new-"

// write makes a file of another name, which then takes the place of the one there was.
func write(root *os.Root, file string, b []byte) bool {
	beside := unfinished + rand.Text()
	f, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = root.Rename(beside, file)
	}
	if err != nil {
		_ = root.Remove(beside) // trim does, if this does not
	}
	return err == nil
}

// trim removes the oldest files until the limit holds, and what a writer that died
// has left. Files that are not the cache's stay.
func (d *Dir) trim(root *os.Root) {
	type kept struct {
		file string
		size int64
		at   time.Time
	}
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return
	}
	var all []kept
	sum := int64(0)
	for _, e := range entries {
		isNew := strings.HasPrefix(e.Name(), unfinished)
		if !isNew && !isName(e.Name()) {
			continue
		}
		info, err := root.Lstat(e.Name())
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if isNew {
			if time.Since(info.ModTime()) > time.Hour {
				_ = root.Remove(e.Name())
			}
			continue
		}
		all = append(all, kept{e.Name(), info.Size(), info.ModTime()})
		sum += info.Size()
	}
	slices.SortFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, k := range all {
		if sum <= d.limit {
			return
		}
		if root.Remove(k.file) == nil {
			sum -= k.size
		}
	}
}
