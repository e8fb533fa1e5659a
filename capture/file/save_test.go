package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// symbolLog has two modules at one address, one after the other.
func symbolLog() *Log {
	log := NewLog(capturetest.SampleInfo)
	first := log.AddModule(capture.Module{Path: "libold", Low: 0x1000, High: 0x3000})
	log.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x10, Stack: log.Intern(capture.Stack{PCs: []addr.Run{0x1064, 0x1100, 0x9000}, FirstIsPC: true})})
	log.EndModule(first, 2)
	log.AddModule(capture.Module{Path: "libnew", Low: 0x1000, High: 0x2000, From: 2})
	log.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: 0x20, Stack: log.Intern(capture.Stack{PCs: []addr.Run{0x1100}})})
	return log
}

func TestSaveKeepsSymbolsAndSourceLines(t *testing.T) {
	log := symbolLog()
	sym := capturetest.FakeSymbols{From: log, Files: map[string][]string{"/src/a.cc": capturetest.Numbered("a.cc", 600), "/src/a.h": capturetest.Numbered("a.h", 45)}}
	dir := t.TempDir()
	path := filepath.Join(dir, "one.hdb")
	if err := Save(outfile.File{Path: path}, log, sym); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	// A capture that is saved again, where nothing can be resolved, keeps them.
	again := filepath.Join(dir, "two.hdb")
	if err := Save(outfile.File{Path: again}, f, nil); err != nil {
		t.Fatal(err)
	}
	f2, err := Open(again)
	if err != nil {
		t.Fatal(err)
	}
	defer f2.Close()
	for _, f := range []*File{f, f2} {
		checkWhole(t, f)
		sameSource(t, f, log)
		checkSymbols(t, f, sym)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func checkSymbols(t *testing.T, f *File, sym capturetest.FakeSymbols) {
	t.Helper()
	for _, tc := range []struct {
		pc       addr.Run
		isReturn bool
		seq      uint64
	}{{0x1064, false, 1}, {0x1100, true, 1}, {0x1100, true, 2}, {0x1064, false, 2}} {
		got, ok := f.Symbol(tc.pc, tc.isReturn, tc.seq)
		if diff := cmp.Diff(sym.Resolve(tc.pc, tc.isReturn, tc.seq), got); diff != "" || !ok {
			t.Errorf("symbol of %v at #%d (- want, + got):\n%s", tc.pc, tc.seq, diff)
		}
	}
	if _, ok := f.Symbol(0x1064, true, 1); ok {
		t.Error("a PC was taken for a return address")
	}
	if frames, ok := f.Symbol(0x9000, true, 1); ok {
		t.Errorf("0x9000 has no module, but is %v", frames)
	}
	if got := f.SourceFiles(); !slices.Equal(got, []string{"/src/a.cc", "/src/a.h"}) {
		t.Errorf("source files %q", got)
	}
	kept := f.SourceLines("/src/a.cc")
	for n, want := range map[int]bool{100: true, 100 - embeddedContext: true, 256 + embeddedContext: true, 100 - embeddedContext - 1: false, 178: false, 500: false} {
		line, ok := capture.Line(kept, n)
		if ok != want || ok && line != fmt.Sprint("a.cc line ", n) {
			t.Errorf("line %d: %q, %v", n, line, ok)
		}
	}
	if kept := f.SourceLines("/src/a.h"); len(kept) != 1 || kept[0].First != 10 || len(kept[0].Lines) != 36 {
		t.Errorf("lines of a.h: %v", kept)
	}
	if kept := f.SourceLines("/src/b.h"); kept != nil {
		t.Errorf("lines of an unknown file: %v", kept)
	}
}

// TestSaveWhileRecording saves a log while events are added, and whatever else is.
func TestSaveWhileRecording(t *testing.T) {
	log := NewLog(capture.Info{Program: "prog"})
	fillTyped(log, 2*eventsPerChunk)
	log.queue.wait()
	for i := range maxTypeRefs / 2 { // that the save takes its time over
		log.types.refs.include(typeRef{addr.Return(0x1000), uint32(i)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	saved, done := make(chan struct{}), make(chan error, 2)
	go func() {
		for i := range 1 << 30 {
			select {
			case <-saved:
				if i > 2*eventsPerChunk {
					done <- nil
					return
				}
			case <-ctx.Done():
				return
			default:
			}
			log.AddEvent(&capture.Event{Kind: capture.Alloc, Addr: uint64(0x10000 + 64*i), Size: 64, TID: 1})
			log.AddThread(capture.Thread{TID: 1, Num: 1, Name: "main"})
		}
	}()
	go func() {
		err := WriteSource(io.Discard, log, nil)
		close(saved)
		done <- err
	}()
	for range 2 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-ctx.Done():
			t.Fatal("the log cannot be saved while it grows")
		}
	}
}

// onlyFile fails unless the directory of path holds nothing but path, with that
// content.
func onlyFile(t *testing.T, path string, content []byte) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("the directory holds %v", entries)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the old file has %d bytes, not %d: %v", len(got), len(content), err)
	}
}

// A full disk is simulated by a limit of the size of files.
func TestFailedSaveLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.hdb")
	log, _ := session(t, 100)
	if err := Save(outfile.File{Path: path}, log, nil); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	big, _ := session(t, 200000)

	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	lower := limit
	lower.Cur = 64 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lower); err != nil {
		t.Fatal(err)
	}
	err = Save(outfile.File{Path: path, Force: true}, big, nil)
	if restored := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); restored != nil {
		t.Fatal(restored)
	}
	signal.Reset(syscall.SIGXFSZ)

	if !errors.Is(err, syscall.EFBIG) || !strings.HasPrefix(err.Error(), "write capture: write "+path+": ") {
		t.Errorf("save: %v", err)
	}
	onlyFile(t, path, old)
}

func TestSaveReplacesAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "real.hdb")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.hdb")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	log, want := session(t, 50)
	if err := Save(outfile.File{Path: link, Force: true}, log, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sameSource(t, f, readBack(t, want))
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v, %v", st.Mode(), err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", st.Mode(), err)
	}
}

func TestSaveErrors(t *testing.T) {
	dir := t.TempDir()
	log := NewLog(capturetest.SampleInfo)
	if err := Save(outfile.File{Path: dir}, log, nil); err == nil || err.Error() != dir+": is a directory" {
		t.Errorf("onto a directory: %v", err)
	}
	if err := Save(outfile.File{Path: filepath.Join(dir, "no", "x.hdb")}, log, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
}

// A writer that fails after some bytes, as a disk that is full.
type fullDisk struct{ room int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		return d.room, syscall.ENOSPC
	}
	d.room -= len(b)
	return len(b), nil
}

func TestWriterKeepsItsFirstError(t *testing.T) {
	w, err := NewWriter(&fullDisk{room: 2000}, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	capturetest.Fill(w, 1, 2*eventsPerChunk)
	for _, err := range []error{w.Flush(), w.Err(), w.Close()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := NewWriter(&fullDisk{}, capturetest.SampleInfo); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("new writer: %v", err)
	}
}
