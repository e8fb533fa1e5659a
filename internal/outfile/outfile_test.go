package outfile

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// text is a writer of s.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// want has a file hold text, and nothing but names stand in its directory.
func want(t *testing.T, path, text string, names ...string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("%s holds %q, %v: want %q", filepath.Base(path), b, err, text)
	}
	var got []string
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("there are %q, %v: want %q", got, err, names)
	}
}

func TestFilesAreReplacedByForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := (File{Path: path}).Write(text("one")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v, %v", st.Mode(), err)
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := (File{Path: path}).Write(text("two")); err == nil || err.Error() != path+": exists already: --force replaces it" {
		t.Error(err)
	}
	want(t, path, "one", "f")
	if err := (File{Path: path, Force: true}).Write(text("two")); err != nil {
		t.Error(err)
	}
	want(t, path, "two", "f")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o604 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	broken := errors.New("broken")
	if err := (File{Path: path, Force: true}).Write(func(w io.Writer) error { return errors.Join(text("half")(w), broken) }); !errors.Is(err, broken) {
		t.Error(err)
	}
	want(t, path, "two", "f")
}

// A file that comes to be while another is written is not replaced either.
func TestAFileThatCameMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	err := File{Path: path}.Write(func(io.Writer) error { return os.WriteFile(path, []byte("theirs"), 0o666) })
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Error(err)
	}
	want(t, path, "theirs", "f")
}

func TestInputsStay(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, []byte("in"), 0o666); err != nil {
		t.Fatal(err)
	}
	link, hard := filepath.Join(dir, "link"), filepath.Join(dir, "hard")
	if err := errors.Join(os.Symlink("in", link), os.Link(in, hard)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{in, link, hard, filepath.Join(dir, "..", filepath.Base(dir), "in")} {
		for _, force := range []bool{true, false} {
			f := File{Path: path, Force: force, Inputs: []string{"", in}}
			if err := f.Write(text("out")); err == nil || !strings.Contains(err.Error(), "is also the input") {
				t.Errorf("%s: %v", path, err)
			}
			if _, err := f.Create(); err == nil {
				t.Errorf("%s was created", path)
			}
		}
	}
	want(t, in, "in", "hard", "in", "link")
	if err := (File{Path: link, Force: true}).Write(text("out")); err != nil { // where the link leads
		t.Error(err)
	}
	want(t, in, "out", "hard", "in", "link")
	want(t, hard, "in", "hard", "in", "link")
}

// A recording that is made is there, and nobody else replaces it.
func TestRecordingsAreLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	f := File{Path: path, Force: true}
	w, err := f.Create()
	if err != nil {
		t.Fatal(err)
	}
	if w.Name() != path {
		t.Errorf("the file calls itself %s", w.Name())
	}
	if err := text("new")(w); err != nil {
		t.Fatal(err)
	}
	want(t, path, "new", "r")
	if b, err := io.ReadAll(old); err != nil || string(b) != "old" {
		t.Errorf("who reads the old one gets %q, %v", b, err)
	}
	if err := f.Write(text("other")); err == nil || err.Error() != path+": is being recorded by another hdb" {
		t.Error(err)
	}
	if _, err := f.Create(); err == nil {
		t.Error("two recordings have one file")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, path, "new", "r")
	if err := f.Write(text("other")); err != nil {
		t.Error(err)
	}
	want(t, path, "other", "r")
}

// Of many that create one file by force at once, those that succeed do so one after
// the other: a recording that is under way stays where its name says.
func TestRecordersRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	done := make(chan error)
	for range 8 {
		go func() {
			for range 50 {
				w, err := File{Path: path, Force: true}.Create()
				if err != nil {
					if !strings.Contains(err.Error(), "is being recorded") {
						done <- err
						return
					}
					continue
				}
				mine, err := w.Stat()
				now, statErr := os.Stat(path)
				if err := errors.Join(err, statErr); err == nil && !os.SameFile(mine, now) {
					done <- errors.New("a recording under way was replaced")
					return
				}
				if err := errors.Join(err, statErr, w.Close()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want(t, path, "", "r")
}

func TestWhatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "is a directory", filepath.Join(dir, "no", "f"): "no such file or directory", filepath.Join(file, "f"): "is not a directory",
		filepath.Join(dir, strings.Repeat("n", 300)): "file name too long",
	} {
		for _, force := range []bool{true, false} {
			if err := (File{Path: path, Force: force}).Write(text("x")); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: want %q", err, want)
			}
		}
	}
	want(t, file, "", "file")
}

func TestDevicesAndPipes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Write":  func() error { return File{Path: fifo}.Write(text("x")) },
		"Create": func() error { _, err := File{Path: fifo}.Create(); return err },
	} {
		if err := f(); err == nil || err.Error() != fifo+": a FIFO without a reader: start its reader first" {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, path := range []string{"/dev/null", fifo} {
		if err := (File{Path: path}).Write(text("x")); err != nil {
			t.Error(err)
		}
	}
	if b, err := io.ReadAll(reader); err != nil || string(b) != "x" {
		t.Errorf("the pipe had %q, %v", b, err)
	}
	if err := (File{Path: "/dev/full"}).Write(text("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("/dev/full: %v", err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := (File{Path: socket, Force: true}).Write(text("x")); err == nil || err.Error() != socket+": is a socket: name a file" {
		t.Errorf("a socket: %v", err)
	}
}
