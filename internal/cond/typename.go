package cond

import (
	"fmt"
	"strings"

	"hdb/internal/goname"
	"hdb/internal/lazyregexp"
)

// importPath matches a package's path with what follows it, whatever types are made of it.
var importPath = lazyregexp.New(`(?:[\w.~-]+/)+[\w.~*-]+`)

// packageName matches what a package's last path element is in most programs its name, too.
var packageName = lazyregexp.New(`^[A-Za-z_]\w*\.`)

// version matches a last element that is not: of a module's later versions.
var version = lazyregexp.New(`^v[0-9]+\.`)

// CheckType is an error of a type's name that no program can have: of Go's types the runtime has the name of the
// package (fmtTypeIDName of cmd/compile/internal/types), while functions and type arguments have its path.
func CheckType(name string) error {
	if strings.Count(name, "[") != strings.Count(name, "]") { // a pattern that begins within type arguments
		return nil
	}
	bare := goname.TypeArguments(name, "")
	at := importPath().FindStringIndex(bare)
	if at == nil || at[0] > 0 && bare[at[0]-1] == '/' { // the file of a type without a name
		return nil
	}
	path := bare[at[0]:at[1]]
	last := path[strings.LastIndexByte(path, '/')+1:]
	const text = "type %s: types of Go have the name of their package, not its path"
	if !packageName().MatchString(last) || version().MatchString(last) || strings.Count(last, ".") > 1 {
		return fmt.Errorf(text+", as http.Request is of net/http", quote(name))
	}
	return fmt.Errorf(text+": %s", quote(name), quote(strings.Replace(name, path, last, 1)))
}
