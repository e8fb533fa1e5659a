package shell

import (
	"fmt"
	"strings"
)

// SplitWord cuts the first word off a line: letters up to a blank. The rest is
// trimmed at its left only, since some commands keep the end as typed.
func SplitWord(line string) (word, rest string) {
	line = strings.TrimLeft(line, " \t")
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}

// SplitArgs cuts a line into words. Quotes of either kind hold blanks together
// and a backslash takes the next character as it is, inside double quotes only
// a quote or another backslash. There are no comments and no variables.
func SplitArgs(line string) ([]string, error) {
	var args []string
	var word strings.Builder
	inWord := false
	quote := rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes) && (quote == 0 || runes[i+1] == quote || runes[i+1] == '\\'):
			i++
			word.WriteRune(runes[i])
			inWord = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if inWord {
				args = append(args, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unfinished quote %c", quote)
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, nil
}
