package diskcache

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestFileID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	seen := map[string]bool{}
	for i := range 3 {
		if err := os.WriteFile(path, []byte("same"), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		// A time set back does not hide the change: the inode's is the kernel's.
		if err := os.Chtimes(path, info.ModTime(), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if info, err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if id := FileID(info); id != "" {
			t.Errorf("write %d: ID %q at once: the next write may get the same", i, id)
		}
		time.Sleep(2 * fineStamp)
		id := FileID(info)
		if id == "" || seen[id] {
			t.Errorf("write %d: ID %q", i, id)
		}
		seen[id] = true
	}
	dir, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if id := fileID(dir, time.Now().Add(time.Hour)); id != "" {
		t.Errorf("a directory has ID %q", id)
	}
}

// stamped is a file with a time of change.
type stamped struct {
	fs.FileInfo
	at syscall.Timespec
}

func (s stamped) Sys() any { return &syscall.Stat_t{Ctim: s.at} }

// TestFileIDSettles knows no file that was changed when, or after, it was looked at.
func TestFileIDSettles(t *testing.T) {
	info, err := os.Stat("diskcache.go")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 500)
	for _, c := range []struct {
		at   syscall.Timespec
		want bool
	}{
		{syscall.Timespec{Sec: 1000, Nsec: 500}, false}, {syscall.Timespec{Sec: 1000, Nsec: 1}, false},
		{syscall.Timespec{Sec: 999, Nsec: 999_000_000}, false}, {syscall.Timespec{Sec: 999, Nsec: 900_000_000}, true},
		{syscall.Timespec{Sec: 999, Nsec: 1}, true}, {syscall.Timespec{Sec: 999}, false}, {syscall.Timespec{Sec: 998}, true},
		{syscall.Timespec{Sec: 2000, Nsec: 1}, false},
	} {
		if got := fileID(stamped{info, c.at}, now) != ""; got != c.want {
			t.Errorf("changed at %v, looked at %v: %v", c.at, now, got)
		}
	}
}
