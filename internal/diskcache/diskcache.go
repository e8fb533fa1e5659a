// Package diskcache keeps on disk what takes long to make anew from files that seldom
// change, such as the names of functions.
//
// Whoever finds nothing here makes the thing itself, so nothing here is an error: a file
// that is missing, cut, damaged, too long, of another version of the program, or not the
// user's own counts as none. What is found passed a checksum, which tells damage but not
// malice: readers check what they read as they check any file.
package diskcache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Dir is a directory of kept things. The nil Dir keeps nothing. It is safe for
// concurrent use, also by several processes.
type Dir struct {
	path  string
	maker string
	limit int64 // bytes of all files
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
func (d *Dir) name(kind, key string) (path string, header []byte) {
	h := sha256.New()
	for _, part := range []string{d.maker, kind, key} {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(part))) // a Hash returns no error
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)
	return filepath.Join(d.path, kind+"-"+hex.EncodeToString(sum[:16])), append([]byte(magic), sum...)
}

func checksum(contents []byte) uint32 {
	return crc32.Checksum(contents, crc32.MakeTable(crc32.Castagnoli))
}

// Get is what was last kept under the key, nil without. kind is part of the file's
// name, and of letters.
func (d *Dir) Get(kind, key string) []byte {
	if d == nil || key == "" {
		return nil
	}
	path, header := d.name(kind, key)
	b := readOwn(path, int64(headerSize)+maxEntry)
	if len(b) < headerSize || string(b[:len(header)]) != string(header) {
		return nil
	}
	contents := b[headerSize:]
	if binary.LittleEndian.Uint32(b[len(header):]) != checksum(contents) {
		return nil
	}
	return contents
}

// Put keeps the contents under the key, in place of what was there. Readers see the
// one or the other. Without room or rights nothing is kept.
func (d *Dir) Put(kind, key string, contents []byte) {
	if d == nil || key == "" || len(contents) > maxEntry {
		return
	}
	path, header := d.name(kind, key)
	header = binary.LittleEndian.AppendUint32(header, checksum(contents))
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(d.path, unfinished) // with mode 0600
	if err != nil {
		return
	}
	_, err = f.Write(append(header, contents...))
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	d.trim()
}

// unfinished is the pattern of files that are being written.
const unfinished = ".new-*"

// trim removes the oldest files until the limit holds, and what a writer that died
// has left.
func (d *Dir) trim() {
	type kept struct {
		path string
		size int64
		at   time.Time
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	var all []kept
	sum := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		if strings.HasPrefix(e.Name(), strings.TrimSuffix(unfinished, "*")) {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(path)
			}
			continue
		}
		all = append(all, kept{path, info.Size(), info.ModTime()})
		sum += info.Size()
	}
	slices.SortFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, k := range all {
		if sum <= d.limit {
			return
		}
		if os.Remove(k.path) == nil {
			sum -= k.size
		}
	}
}
