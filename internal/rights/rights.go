// Package rights opens files with no more rights than a user has. Debug information names
// source and debug files, and whoever makes a program chooses the names: an hdb that root
// runs must not copy what only root may read into a capture.
package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hdb/internal/regular"
)

// A User is whose rights count when a file is opened. nil is hdb's own user.
type User struct {
	UID, GID int
	Groups   []int // supplementary ones
}

// OfFile is Of the file that has the path now: what is opened there later may be another's. nil if it cannot be
// looked at.
func OfFile(path string) *User {
	st, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return Of(st)
}

// OfUser is the user of those IDs, nil if hdb is not run by root, or it is root.
func OfUser(uid, gid int) *User {
	if uid == 0 || os.Geteuid() != 0 {
		return nil
	}
	return &User{UID: uid, GID: gid}
}

// ID is the user's, -1 of hdb's own.
func (u *User) ID() int {
	if u == nil {
		return -1
	}
	return u.UID
}

// Open is regular.Open with the rights of the user. Where these are not enough, the error says whose they are.
func (u *User) Open(path string) (*os.File, fs.FileInfo, error) {
	if u == nil {
		return regular.Open(path)
	}
	var f *os.File
	var st fs.FileInfo
	err := u.do(func() (err error) {
		f, st, err = regular.Open(path)
		return err
	})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w for user %d, who runs the program that names it", err, u.UID)
	}
	return f, st, err
}

// Read is regular.Read with the rights of the user: at most limit bytes, and of a longer file a byte more.
func (u *User) Read(path string, limit int64) ([]byte, error) {
	return regular.ReadBy(u.Open, path, limit)
}
