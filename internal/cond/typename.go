package cond

import (
	"fmt"
	"strings"
)

// CheckType is an error of a type's name that no program can have: of Go's types the runtime keeps
// the last element of the package's path only, while functions have all of it.
func CheckType(name string) error {
	elem := strings.TrimLeft(name, "*[]0123456789") // the type of a pointer or of elements
	path := elem
	if i := strings.IndexAny(path, "[("); i >= 0 {
		path = path[:i] // type arguments have their whole paths; clang's unnamed types have their file's
	}
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || slash+1 == len(path) || strings.ContainsAny(path, ": <") {
		return nil
	}
	right := name[:len(name)-len(elem)] + elem[slash+1:]
	return fmt.Errorf("type %s: types of Go have the last element of the package's path only: %s", quote(name), quote(right))
}
