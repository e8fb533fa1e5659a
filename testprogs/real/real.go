// Package real has real programs do real work for tests: fixed inputs,
// written once to the tests' cache, and command lines that make the same
// allocations on every run of one machine. Each makes some of 1 MiB and
// more, and at least 200 of the size in Frequent.
package real

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// Program is a real program and the work that it is given.
type Program struct {
	Name string
	testprogs.Command
	// Frequent is a size that at least 200 calls of malloc ask for or
	// exceed during the work, and not many times more.
	Frequent uint64
	// DWARF says that debug info is found, in the file or by build ID.
	DWARF bool
	// Sources maps the folder that the debug info names to the one where
	// the sources lie; empty when it needs no mapping or there are none.
	Sources [2]string
}

// All returns every real program.
func All(t testing.TB) []Program {
	t.Helper()
	return []Program{SQLite(t), Python(t), Xmllint(t), Git(t), Perl(t)}
}

// SQLite is the sqlite3 shell that scripts/real builds from Debian's source
// package with -O2 -g, at work on tables in memory.
func SQLite(t testing.TB) Program {
	t.Helper()
	dir := brought(t, "sqlite3")
	in := inputFile(t, "work.sql", []byte(sqliteWork))
	return Program{
		Name: "sqlite3",
		Command: testprogs.Command{
			Path: filepath.Join(dir, "bin", "sqlite3"),
			Args: []string{"-batch", "-bail", ":memory:", ".read work.sql"},
			Env:  environment(in),
			Dir:  in,
		},
		Frequent: 16384,
		DWARF:    true,
		Sources:  sameFolder,
	}
}

// Python is Debian's python3 with the debug info of python3-dbg and the
// sources that scripts/real unpacks.
func Python(t testing.TB) Program {
	t.Helper()
	src := brought(t, "python3.11")
	in := inputFile(t, "work.py", []byte(pythonWork))
	path := resolve(t, "/usr/bin/python3", "python3")
	if !hasDebugFile(t, path) {
		t.Fatalf("no debug file for %s (apt-get install python3-dbg)", path)
	}
	return Program{
		Name: "python3",
		Command: testprogs.Command{
			Path: path,
			// Isolated, without site and without writing .pyc files.
			Args: []string{"-I", "-S", "-B", "work.py"},
			Env:  append(environment(in), "PYTHONHASHSEED=0"),
			Dir:  in,
		},
		Frequent: 4096,
		DWARF:    true,
		Sources:  [2]string{"/build/reproducible-path/python3.11-3.11.2", src},
	}
}

// Xmllint is Debian's xmllint, which has no debug info, at work on a
// generated file.
func Xmllint(t testing.TB) Program {
	t.Helper()
	in := inputFile(t, "work.xml", xmlWork())
	return Program{
		Name: "xmllint",
		Command: testprogs.Command{
			Path: resolve(t, "xmllint", "libxml2-utils"),
			Args: []string{"--xpath", "string-length(//blob/text()) + string-length(//comment()) + count(//item[@n > 500]/name[contains(., '7')])", "work.xml"},
			Env:  environment(in),
			Dir:  in,
		},
		Frequent: 128,
	}
}

// Git is Debian's git, which has no debug info, showing the history of a
// generated repository with differences.
func Git(t testing.TB) Program {
	t.Helper()
	path := resolve(t, "git", "git")
	in := input(t, gitKey, func(dir string) error { return gitWork(path, dir) })
	return Program{
		Name: "git",
		Command: testprogs.Command{
			Path: path,
			Args: []string{"--no-pager", "log", "-p", "--stat", "--no-color"},
			Env:  append(environment(in), "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat"),
			Dir:  in,
		},
		Frequent: 4096,
	}
}

// Perl is Debian's perl, which has no debug info, building strings and
// hashes.
func Perl(t testing.TB) Program {
	t.Helper()
	in := inputFile(t, "work.pl", []byte(perlWork))
	return Program{
		Name: "perl",
		Command: testprogs.Command{
			Path: resolve(t, "perl", "perl"),
			Args: []string{"work.pl"},
			Env:  append(environment(in), "PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0"),
			Dir:  in,
		},
		Frequent: 2048,
	}
}

// sameFolder says that sources lie where the debug info says.
var sameFolder [2]string

// environment is all that a program is given: nothing of the user's.
func environment(home string) []string {
	return []string{"PATH=/usr/bin:/bin", "HOME=" + home, "LC_ALL=C.UTF-8", "TZ=UTC"}
}

// brought is the folder into which scripts/real puts what.
func brought(t testing.TB, what string) string {
	t.Helper()
	cache, err := testprogs.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "real", what)
	if _, err := os.Stat(filepath.Join(dir, "version")); err != nil {
		t.Fatalf("no %s for the tests: run scripts/real, which fetches its Debian source package", what)
	}
	return dir
}

// inputFile is a folder in the cache that holds one file of this content.
func inputFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	key := fmt.Sprintf("%x", sha256.Sum256(content))[:16]
	return input(t, key, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, name), content, 0o644)
	})
}

// input is a folder in the cache that fill fills once for each key.
func input(t testing.TB, key string, fill func(dir string) error) string {
	t.Helper()
	cache, err := testprogs.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "real-input", key)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := testprogs.Place(dir, fill); err != nil {
		t.Fatalf("input %s: %v", key, err)
	}
	return dir
}

// resolve is the ELF file that name stands for on the path, with symbolic
// links followed, as a debugger shows it.
func resolve(t testing.TB, name, debianPackage string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatalf("%v (apt-get install %s)", err, debianPackage)
	}
	return path
}

// hasDebugFile looks below /usr/lib/debug for the build ID of path.
func hasDebugFile(t testing.TB, path string) bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note := f.Section(".note.gnu.build-id")
	if note == nil {
		return false
	}
	data, err := note.Data()
	if err != nil || len(data) < 36 {
		return false
	}
	id := fmt.Sprintf("%x", data[16:])
	_, err = os.Stat(filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug"))
	return err == nil
}

// xmlWork is a document of 600 items, and a text and a comment of 2 MiB.
func xmlWork() []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<list>\n")
	for i := range 600 {
		fmt.Fprintf(&b, "<item n=\"%d\"><name>item number %d</name><note>%s</note></item>\n",
			i, i, strings.Repeat("text ", i%97))
	}
	large := strings.Repeat("0123456789abcdef", 1<<17)
	fmt.Fprintf(&b, "<blob>%s</blob>\n<!--%s-->\n</list>\n", large, large)
	return b.Bytes()
}

// gitKey names this version of what gitWork makes; change it with gitWork.
const gitKey = "git-2"

// gitWork makes a repository in dir: 20 commits of three text files, and
// two of one file of more than 1 MiB.
func gitWork(git, dir string) error {
	run := func(n int, args ...string) error {
		date := fmt.Sprintf("2024-01-01T00:%02d:00Z", n)
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(environment(dir), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE="+date,
			"GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org", "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := run(0, "init", "-q", "-b", "main"); err != nil {
		return err
	}
	for n := range 20 {
		if err := writeTexts(dir, n); err != nil {
			return err
		}
		if err := run(n, "add", "-A"); err != nil {
			return err
		}
		if err := run(n, "commit", "-q", "-m", fmt.Sprintf("Change %d", n)); err != nil {
			return err
		}
	}
	return run(30, "-c", "gc.auto=0", "-c", "pack.threads=1", "repack", "-q", "-a", "-d")
}

// writeTexts writes the files of commit n.
func writeTexts(dir string, n int) error {
	for f := range 3 {
		var b bytes.Buffer
		for line := range 200 + 50*f {
			if line%20 == n {
				fmt.Fprintf(&b, "changed in %d\n", n)
			}
			fmt.Fprintf(&b, "file %d line %d of %d\n", f, line, n/(line%7+3))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.txt", f)), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if n != 5 && n != 15 {
		return nil
	}
	var b bytes.Buffer
	for line := range 60000 {
		fmt.Fprintf(&b, "large line %d of %d\n", line, line*n%13)
	}
	return os.WriteFile(filepath.Join(dir, "large.txt"), b.Bytes(), 0o644)
}
