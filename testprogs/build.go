// Package testprogs builds the small inferiors that the tests debug, one
// behaviour each, from the sources in testdata.
//
// Build may be called from any number of tests and processes at once: a
// program is built in a temporary folder beside the cache and renamed into
// place, so the cache holds whole programs only.
package testprogs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Build returns the path of the program made from testdata/name.c, .cc, .rs
// or .go, building it unless the cache has it for the same sources, flags
// and compiler. The flags follow those that the source asks for itself in
// its head (see directives). CC=COMPILER among the flags chooses another
// compiler; STRIP removes the symbol table after the build; PYTHON makes an
// extension of Debian's python3, name.so, with the link name. A compiler or
// library that is missing fails the test and names its Debian package.
func Build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	path, err := Program(name, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Program is Build for programs that are not tests.
func Program(name string, flags ...string) (string, error) {
	path, err := build(name, flags)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// Source returns the path of the source file that Build uses for name.
func Source(t testing.TB, name string) string {
	t.Helper()
	path, err := source(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Dir is the folder testdata of this package in the checkout the test runs
// in, found from its go.mod so that it also works under -trimpath.
func Dir() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "testprogs", "testdata"), nil
}

// Root is the folder of the module that the test runs in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory: run the tests inside the module")
		}
		dir = up
	}
}

func source(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	for _, l := range languages {
		path := filepath.Join(dir, name+l.suffix)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no source %s.{c,cc,rs,go} in %s", name, dir)
}

// language says how files of a suffix are compiled.
type language struct {
	suffix   string
	compiler string
	flags    []string // before all others
}

var languages = []language{
	{".c", "gcc", []string{"-g", "-pthread", "-Wall"}},
	{".cc", "g++", []string{"-g", "-pthread", "-Wall"}},
	{".rs", "rustc", []string{"-g"}},
	{".go", "go", []string{"build"}},
}

func languageOf(path string) (language, error) {
	for _, l := range languages {
		if filepath.Ext(path) == l.suffix {
			return l, nil
		}
	}
	return language{}, fmt.Errorf("%s: no compiler known for this suffix", path)
}

// directives are what a source says in comment lines at its head:
//
//	//build: -O2 -ldl          flags of its own
//	//also: plugin.so plugin.c -shared -fPIC
//	                           another file built into the same folder
type directives struct {
	flags []string
	also  [][]string // output name, source, flags
}

func readDirectives(src []byte) directives {
	var d directives
	for line := range strings.Lines(string(src)) {
		switch {
		case strings.HasPrefix(line, "//build:"):
			d.flags = append(d.flags, strings.Fields(line)[1:]...)
		case strings.HasPrefix(line, "//also:"):
			d.also = append(d.also, strings.Fields(line)[1:])
		case !strings.HasPrefix(line, "//"):
			return d
		}
	}
	return d
}

// job is one program to build: its source and everything its key covers.
type job struct {
	name  string
	path  string // of the source
	src   []byte
	flags []string
	head  directives
}

func newJob(name string, flags []string) (job, error) {
	path, err := source(name)
	if err != nil {
		return job{}, err
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return job{}, err
	}
	return job{name, path, src, flags, readDirectives(src)}, nil
}

func build(name string, flags []string) (string, error) {
	if path, ok := cythonSource(name); ok {
		return buildCython(name, path, flags)
	}
	j, err := newJob(name, flags)
	if err != nil {
		return "", err
	}
	key, err := j.key()
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "testprogs", name+"-"+key)
	program := filepath.Join(dir, name)
	if _, err := os.Stat(dir); err == nil {
		return program, j.notOlder(program)
	}
	return program, Place(dir, j.compile)
}

// notOlder makes a program that was built before newer than its sources, which a
// fresh clone may have written anew: its key says that it is of those texts.
func (j job) notOlder(program string) error {
	st, err := os.Stat(program)
	if err != nil {
		return err
	}
	for _, path := range append(j.others(), j.path) {
		src, err := os.Stat(path)
		if err != nil {
			return err
		}
		if st.ModTime().Before(src.ModTime()) {
			return os.Chtimes(program, time.Time{}, time.Now())
		}
	}
	return nil
}

// key covers all that decides what the build makes. The path of the source
// is part of it because debug info holds it.
func (j job) key() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%s\n", j.path, j.flags, j.src)
	l, compiler, _, err := j.command(j.path, j.flags)
	if err != nil {
		return "", err
	}
	version, err := compilerVersion(compiler)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%q %s\n", l.flags, version)
	if slices.Contains(j.head.flags, "PYTHON") {
		include, err := pythonInclude()
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, include)
	}
	for _, path := range j.others() {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	if bytes.Contains(j.src, []byte("annotations/hdb.h")) {
		header, err := os.ReadFile(filepath.Join(filepath.Dir(j.path), "../../annotations/hdb.h"))
		if err != nil {
			return "", err
		}
		h.Write(header)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// quoted matches what a source includes from its own folder.
var quoted = regexp.MustCompile(`(?m)^#include "([^"/]+)"`)

// others are the files that the program is made from in addition to its source.
func (j job) others() (paths []string) {
	for _, also := range j.head.also {
		paths = append(paths, j.beside(also))
	}
	for _, m := range quoted.FindAllSubmatch(j.src, -1) {
		paths = append(paths, filepath.Join(filepath.Dir(j.path), string(m[1])))
	}
	return paths
}

func (j job) beside(also []string) string {
	if len(also) < 2 {
		return j.path + ": also: wants an output and a source"
	}
	return filepath.Join(filepath.Dir(j.path), also[1])
}

// command splits the flags into the compiler and what it is given.
func (j job) command(path string, flags []string) (l language, compiler string, args []string, err error) {
	l, err = languageOf(path)
	if err != nil {
		return l, "", nil, err
	}
	compiler = l.compiler
	for _, f := range flags {
		switch cc, ok := strings.CutPrefix(f, "CC="); {
		case ok:
			compiler = cc
		case f == "PYTHON":
			include, err := pythonInclude()
			if err != nil {
				return l, "", nil, err
			}
			args = append(args, "-shared", "-fPIC", "-I"+include)
		case f != "STRIP":
			args = append(args, f)
		}
	}
	return l, compiler, args, nil
}

// compile fills dir with the program and what it wants beside it.
func (j job) compile(dir string) error {
	for _, also := range j.head.also {
		if err := j.one(j.beside(also), filepath.Join(dir, also[0]), also[2:]); err != nil {
			return err
		}
	}
	flags := append(append([]string{}, j.head.flags...), j.flags...)
	program := filepath.Join(dir, j.name)
	if !slices.Contains(flags, "PYTHON") {
		return j.one(j.path, program, flags)
	}
	if err := j.one(j.path, program+".so", flags); err != nil {
		return err
	}
	return os.Symlink(j.name+".so", program)
}

func (j job) one(path, out string, flags []string) error {
	l, compiler, args, err := j.command(path, flags)
	if err != nil {
		return err
	}
	// The source comes before the flags: libraries (-l) must follow it.
	line := append(append([]string{}, l.flags...), "-o", out)
	if l.suffix == ".go" {
		line = append(append(line, args...), filepath.Base(path))
	} else {
		line = append(append(line, filepath.Base(path)), args...)
	}
	if err := run(filepath.Dir(path), compiler, line...); err != nil {
		return err
	}
	for _, f := range flags {
		if f == "STRIP" {
			return run("", "strip", out)
		}
	}
	return nil
}

// EagerGo is the environment of go build, whose compiler's own garbage collector takes a
// fifth of its time. What is compiled does not get it.
const EagerGo = "GOGC=800"

// run runs a compiler in dir, which is part of what debug info says.
func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), EagerGo)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w%s\n%s", strings.Join(cmd.Args, " "), err, remedy(name, err, out.String()), out.String())
	}
	return nil
}

// Place makes the folder dir with make, or leaves the one that another
// process placed there first. It appears under its name only when whole.
func Place(dir string, make func(dir string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := make(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	err = os.Rename(tmp, dir)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// CacheDir is where built programs and generated inputs are kept between
// runs: hdb-test under the user's cache folder, or under the folder of
// temporary files for a user who has none. scripts/cache says the same.
func CacheDir() (string, error) {
	if dir, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(dir, "hdb-test")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("hdb-test-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cache for test programs: %w", err)
	}
	return dir, nil
}

// versions remembers what each compiler said of itself in this process.
var versions sync.Map

func compilerVersion(compiler string) (string, error) {
	if v, ok := versions.Load(compiler); ok {
		return v.(string), nil
	}
	arg := "--version"
	if compiler == "go" {
		arg = "version"
	}
	out, err := exec.Command(compiler, arg).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w%s", compiler, arg, err, remedy(compiler, err, ""))
	}
	versions.Store(compiler, string(out))
	return string(out), nil
}
