// Package cmdline splits the command line that a program is launched with, as a shell does.
package cmdline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/shlex"
)

// Redirections are the files of a command line's < > >> 2> 2>> 2>&1 &>.
type Redirections struct {
	Stdin, Stdout, Stderr      string // paths, "" inherits
	StdoutAppend, StderrAppend bool
	StderrToStdout             bool
}

// Parse splits a program's arguments as a shell does, with quotes and backslashes but
// without expansions, and takes the redirections out. An operator may be a word of its own or
// before its path: "> out", "2>err".
func Parse(s string) (args []string, r Redirections, err error) {
	words, err := splitWords(s)
	if err != nil {
		return nil, r, err
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		op := operator(w)
		if op == "" {
			arg, err := unquote(w)
			if err != nil {
				return nil, r, err
			}
			args = append(args, arg)
			continue
		}
		if op == "2>&1" {
			r.StderrToStdout, r.Stderr = true, ""
			continue
		}
		path := w[len(op):]
		if path == "" {
			if i++; i == len(words) || operator(words[i]) != "" {
				return nil, r, fmt.Errorf("redirection %s: no file name follows", op)
			}
			path = words[i]
		}
		if path, err = unquote(path); err != nil {
			return nil, r, err
		}
		r.set(op, path)
	}
	return args, r, nil
}

// operators, the longer ones first.
var operators = []string{"2>&1", "2>>", "1>>", "&>", "2>", "1>", "0<", ">>", ">", "<"}

func operator(word string) string {
	for _, op := range operators {
		if strings.HasPrefix(word, op) {
			return op
		}
	}
	return ""
}

func (r *Redirections) set(op, path string) {
	switch op {
	case "<", "0<":
		r.Stdin = path
	case ">", "1>", ">>", "1>>":
		r.Stdout, r.StdoutAppend = path, strings.HasSuffix(op, ">>")
	case "2>", "2>>":
		r.Stderr, r.StderrAppend, r.StderrToStdout = path, op == "2>>", false
	case "&>":
		r.Stdout, r.StdoutAppend, r.Stderr, r.StderrToStdout = path, false, "", true
	}
}

// splitWords cuts at blanks outside quotes, and before an unquoted < or >
// inside a word ("a>b" is a, >b); quotes stay in the words.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	escaped := false
	for _, c := range s {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' || c == '\t' || c == '\n':
			end()
			continue
		case c == '<' || c == '>':
			if w := word.String(); w != "" && w != "0" && w != "1" && w != "2" && w != "&" && !strings.HasSuffix(w, ">") {
				end()
			}
		}
		word.WriteRune(c)
	}
	if quote != 0 {
		return nil, fmt.Errorf("unfinished %c quote", quote)
	}
	if escaped {
		return nil, errors.New("nothing follows the last backslash")
	}
	end()
	return words, nil
}

// unquote takes the quotes and backslashes of one word away. shlex sees one
// word only, never a # at its start, which it would take for a comment.
func unquote(word string) (string, error) {
	if strings.HasPrefix(word, "#") {
		word = `\` + word
	}
	parts, err := shlex.Split(word)
	if err != nil {
		return "", fmt.Errorf("argument %s: %w", word, err)
	}
	return strings.Join(parts, " "), nil
}
