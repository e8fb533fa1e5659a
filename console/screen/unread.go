package screen

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Unread tells the error of a standard output that is no longer read, as of `hdb help leaks | head -4`:
// whoever closed it knows, and no text is printed for it.
func Unread(err error) bool {
	var of *fs.PathError
	return errors.Is(err, syscall.EPIPE) && errors.As(err, &of) && of.Path == os.Stdout.Name()
}
