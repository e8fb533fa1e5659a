package inferior

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenableApart: a file of hdb's that has the path and the number of the inode of one in
// a container is taken for that only on the same device.
func TestOpenableApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, ok := statOf(path)
	if !ok {
		t.Fatal("no stat")
	}
	const gone = 0 // no process has this ID: nothing is found through its eyes
	own, theirs := path, fmt.Sprintf("/proc/%d/root%s", gone, path)
	device := fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev))
	for _, tc := range []struct {
		device string
		inode  uint64
		apart  bool
		want   string
	}{
		{device, st.Ino, false, own},
		{device, st.Ino, true, own},
		{"fff:fff", st.Ino, true, theirs},
		{"fff:fff", st.Ino, false, own}, // btrfs
		{device, st.Ino + 1, true, theirs},
		{device, st.Ino + 1, false, own},
	} {
		m := Mapping{Path: path, Device: tc.device, Inode: tc.inode}
		if got := m.openable(gone, tc.apart); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc, got, tc.want)
		}
	}
	m := Mapping{Path: path, Device: device, Inode: st.Ino}
	if got, want := m.openable(os.Getpid(), true), fmt.Sprintf("/proc/%d/root%s", os.Getpid(), path); got != want {
		t.Errorf("%s, want %s: hdb's own comes last", got, want)
	}
}
