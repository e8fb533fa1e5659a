package hdb_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptOfGlibc has Debian's suites move on: what is there no more is told, and the rest is brought.
func TestScriptOfGlibc(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"apt-get":   `case "$*" in *" update") case "$*" in *bullseye*) exit 100 ;; esac ;; *download*) for p; do :; done; : >"${p%%=*}_1.deb" ;; esac`,
		"apt-cache": `case "$*" in *trixie*) echo " libc6 | 2.410-1 | x"; echo " libc6 | 2.41-12 | x" ;; *forky*libc6) echo " libc6 | 2.44-1 | x" ;; *forky*) echo " libjemalloc2 | 5.3.1-1 | x" ;; esac`,
		"dpkg-deb":  `mkdir -p "$3"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("scripts/glibc")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache)
	said, err := cmd.CombinedOutput()
	want := "bullseye of Debian cannot be read: tests of heap/glibc leave out 2.31\n" +
		"libc6 2.43 is not in forky, which has 2.44-1: tests of heap/glibc leave it out\n"
	if err != nil || string(said) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, said, want)
	}
	found, err := filepath.Glob(filepath.Join(cache, "hdb-test", "*", "*"))
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], filepath.Join(cache, "hdb-test")+"/")
	}
	if got := strings.Join(found, " "); err != nil || got != "glibc/2.41 jemalloc/5.3.1" {
		t.Errorf("brought %q, %v", got, err)
	}
}

// Without a network the script fails, unless it has all.
func TestScriptOfGlibcWithoutNetwork(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte("#!/bin/sh\nexit 100\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func() (string, error) {
		cmd := exec.Command("scripts/glibc")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	want := "bullseye of Debian cannot be read: tests of heap/glibc leave out 2.31\n" +
		"trixie of Debian cannot be read: tests of heap/glibc leave out 2.41\n" +
		"forky of Debian cannot be read: tests of heap/glibc leave out 2.43\n" +
		"forky of Debian cannot be read: tests of heap/jemalloc leave out 5.3.1\n"
	if said, err := run(); err == nil || said != want {
		t.Errorf("%v\n%s\nwant\n%s", err, said, want)
	}
	for _, version := range []string{"glibc/2.31", "glibc/2.41", "glibc/2.43", "jemalloc/5.3.1"} {
		if err := os.MkdirAll(filepath.Join(cache, "hdb-test", version), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := run(); err != nil || said != "" {
		t.Errorf("with all there: %v\n%s", err, said)
	}
}
