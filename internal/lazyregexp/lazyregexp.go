// Package lazyregexp has regular expressions that are compiled when they are first used: a start of hdb pays for none that
// it does not need.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that compiles expr on its first call and returns the same result afterwards. An invalid expr panics
// then; in tests, New itself panics.
func New(expr string) func() *regexp.Regexp {
	once := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		once()
	}
	return once
}
