package cond

import (
	"fmt"
	"regexp"
	"strings"
)

// importPath matches a package's path with what follows it, whatever types are made of it.
var importPath = regexp.MustCompile(`(?:[\w.~-]+/)+[\w.~*-]+`)

// packageName matches what a package's last path element is in most programs its name, too.
var packageName = regexp.MustCompile(`^[A-Za-z_]\w*\.`)

// version matches a last element that is not: of a module's later versions.
var version = regexp.MustCompile(`^v[0-9]+\.`)

// CheckType is an error of a type's name that no program can have: of Go's types the runtime has the name of the
// package (fmtTypeIDName of cmd/compile/internal/types), while functions and type arguments have its path.
func CheckType(name string) error {
	bare := withoutTypeArguments(name)
	at := importPath.FindStringIndex(bare)
	if at == nil || at[0] > 0 && bare[at[0]-1] == '/' { // the file of a type without a name
		return nil
	}
	path := bare[at[0]:at[1]]
	last := path[strings.LastIndexByte(path, '/')+1:]
	const text = "type %s: types of Go have the name of their package, not its path"
	if !packageName.MatchString(last) || version.MatchString(last) || strings.Count(last, ".") > 1 {
		return fmt.Errorf(text+", as http.Request is of net/http", quote(name))
	}
	return fmt.Errorf(text+": %s", quote(name), quote(strings.Replace(name, path, last, 1)))
}

// withoutTypeArguments leaves out what is in the brackets behind names, but for those of a map.
func withoutTypeArguments(name string) string {
	var b strings.Builder
	depth := 0 // of brackets within type arguments
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case depth > 0 && c == '[':
			depth++
		case depth > 0 && c == ']':
			depth--
		case depth > 0:
		case c == '[' && i > 0 && isWord(name[i-1]) && !strings.HasSuffix(name[:i], "map"):
			depth = 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
