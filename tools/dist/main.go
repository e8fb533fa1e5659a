// Command dist packs a build of hdb: an archive, packages for Debian and for RPM, a wheel, a list of the modules in the
// executable (CycloneDX 1.5) and the checksums of all. The same build gives the same files.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A release is what is packed.
type release struct {
	version string
	date    time.Time // of the commit, which all files have
	out     string    // the directory of the results
	files   []file
}

// A file is one of the installed files, with its path below the prefix, such as bin/hdb.
type file struct {
	path string
	mode fs.FileMode
	data []byte
}

const summary = "interactive allocation debugger"

const description = `hdb starts or attaches to a program in C, C++, Rust, Go or CPython, stops at the
allocations that match a condition, records all of them with their stacks, and
answers questions about the heap: who allocates, who holds memory, what leaks.`

func main() {
	log.SetFlags(0)
	log.SetPrefix("dist: ")
	stage := flag.String("stage", "", "the `directory` that make install has filled: bin, share")
	out := flag.String("out", "", "the `directory` of the results")
	version := flag.String("version", "", "the `number` of the release")
	seconds := flag.Int64("date", 0, "the `time` that files get, in seconds since 1970")
	docs := flag.String("docs", "", "the `files` that only the archive has, commas between them")
	ci := flag.String("ci", "", "the `script` that CI runs, which the archive has in ci")
	module := flag.String("module", "", "hdb_mark.py, which the wheel has, too")
	flag.Parse()
	if *stage == "" || *out == "" || *version == "" || *module == "" || *docs == "" || *ci == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r := &release{version: *version, date: time.Unix(*seconds, 0).UTC(), out: *out}
	if err := r.pack(*stage, strings.Split(*docs, ","), *ci, *module); err != nil {
		log.Fatal(err)
	}
}

func (r *release) pack(stage string, docs []string, ci, module string) error {
	if err := r.read(stage); err != nil {
		return err
	}
	executable, err := r.find("bin/hdb")
	if err != nil {
		return err
	}
	var extra []file
	for _, path := range docs {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		extra = append(extra, file{filepath.Base(path), 0o644, data})
	}
	script, err := os.ReadFile(ci)
	if err != nil {
		return err
	}
	mark, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	results := map[string]func() ([]byte, error){
		"hdb-" + r.version + "-linux-amd64.tar.gz":   func() ([]byte, error) { return r.archive(append(extra, file{"ci/assert.sh", 0o755, script})) },
		"hdb_" + r.version + "_amd64.deb":            func() ([]byte, error) { return r.system("deb", extra) },
		"hdb-" + r.version + "-1.x86_64.rpm":         func() ([]byte, error) { return r.system("rpm", extra) },
		"hdb-" + r.version + "-" + wheelTag + ".whl": func() ([]byte, error) { return r.wheel(executable, mark) },
		"hdb-" + r.version + "-linux-amd64.cdx.json": func() ([]byte, error) { return r.materials(executable) },
	}
	return r.write(results)
}

// read takes the files of an installation and compresses the manual pages.
func (r *release) read(stage string) error {
	return filepath.WalkDir(stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(stage, path)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "share/man/") {
			if data, err = compressed(data); err != nil {
				return err
			}
			name += ".gz"
		}
		r.files = append(r.files, file{name, info.Mode().Perm(), data})
		return nil
	})
}

func (r *release) find(path string) (file, error) {
	i := slices.IndexFunc(r.files, func(f file) bool { return f.path == path })
	if i < 0 {
		return file{}, fmt.Errorf("%s: not installed", path)
	}
	return r.files[i], nil
}

// write makes the results and their checksums, as sha256sum -c reads them.
func (r *release) write(results map[string]func() ([]byte, error)) error {
	var sums []string
	for name, pack := range results {
		data, err := pack()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
			return err
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
