package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(file, []byte("12345"), 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, st, err := Open(file)
	if err != nil || st.Size() != 5 {
		t.Fatal(st, err)
	}
	f.Close()
	for limit, want := range map[int64]string{3: "1234", 9: "12345"} {
		if b, err := Read(file, limit); err != nil || string(b) != want {
			t.Errorf("%d: %q, %v", limit, b, err)
		}
	}
	for path, want := range map[string]error{
		fifo: ErrNotRegular, "/proc/kmsg": ErrNotRegular, "/proc/self/status": ErrNotRegular, "/sys/kernel/notes": ErrNotRegular, "/dev/zero": ErrNotRegular, os.DevNull: nil, dir: ErrDirectory, filepath.Join(dir, "none"): fs.ErrNotExist,
	} {
		if _, err := Read(path, 1); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
