package screen

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// TerminalSize is the size of the terminal that o writes to. What is no
// terminal is 80 columns wide and never full.
func TerminalSize(o *Output) (width, height int, tty bool) {
	f, ok := o.W.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 80, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80, 0, true
	}
	return width, height, true
}

// BlockElements reports whether the terminal shows Unicode (locale(7)).
func BlockElements(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// ShortPath is a path relative to the working directory when it is below it.
func ShortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
