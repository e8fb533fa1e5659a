package cond

import (
	"strings"

	"hdb/internal/spelling"
)

// suggestion is " (did you mean size?)" for the name nearest to word, or where the
// names are listed when none is near.
func suggestion(word string) string {
	if near := Nearest(word); near != "" {
		return " (did you mean " + near + "?)"
	}
	return " (help conditions lists the names)"
}

// Nearest is the name of the language that a misspelt word is most likely to be, "" for
// none.
func Nearest(word string) string {
	var names []string
	for _, info := range Fields() {
		names = append(names, strings.TrimSuffix(info.Name, "("))
	}
	return spelling.Nearest(strings.ToLower(word), names)
}
