//go:build !(linux && amd64)

package outfile

import "errors"

// renameNew is not known here: a link does the same.
func renameNew(string, string) error { return errors.ErrUnsupported }
