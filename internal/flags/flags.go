// Package flags reads the flags of hdb's command line and of the console's commands
// as gdb spells them: with one dash or two, and a value either in the next word or
// behind an equals sign.
package flags

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/spelling"
)

// A Flag is what a command does with one of its flags. The zero Flag is none.
type Flag struct {
	obey func() // of one without a value
	set  func(value string) error
}

// On is a flag without a value, which makes p true.
func On(p *bool) Flag { return Flag{obey: func() { *p = true }} }

// Off is one that makes p false.
func Off(p *bool) Flag { return Flag{obey: func() { *p = false }} }

// Text is a flag whose value p becomes.
func Text(p *string) Flag {
	return Value(func(value string) error { *p = value; return nil })
}

// NonEmpty is Text whose value may not be empty.
func NonEmpty(p *string) Flag {
	return Value(func(value string) error {
		if value == "" {
			return errMissing
		}
		*p = value
		return nil
	})
}

// Value is a flag whose value set takes, or refuses.
func Value(set func(value string) error) Flag { return Flag{set: set} }

// TakesValue reports whether a value follows the flag; it does for neither a flag without one nor none.
func (f Flag) TakesValue() bool { return f.set != nil }

// ErrUnknown is the cause of an error about a flag that is not known, nor near to one that is.
var ErrUnknown = errors.New("no such flag")

var errMissing = errors.New("value missing")

// Is tells a flag from other words; "-" is none.
func Is(word string) bool { return len(word) > 1 && word[0] == '-' }

// Next obeys the flag that the words begin with and returns those that are left. find
// gives the flag of a name, which comes without dashes. Errors begin with the word.
func Next(words []string, find func(name string) Flag) (rest []string, err error) {
	word, rest := words[0], words[1:]
	name, value, inline := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	switch f := find(name); {
	case f.obey != nil && inline:
		err = errors.New("takes no value")
	case f.obey != nil:
		f.obey()
	case f.set == nil:
		err = unknown(name, find)
	case inline:
		err = f.set(value)
	case len(rest) == 0:
		err = errMissing
	default:
		err, rest = f.set(rest[0]), rest[1:]
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	return rest, nil
}

// unknown is the error about an unknown flag, with the one that it is near to.
func unknown(name string, find func(name string) Flag) error {
	near := spelling.Known(name, func(n string) bool { f := find(n); return f.obey != nil || f.set != nil })
	if near == "" {
		return ErrUnknown
	}
	return fmt.Errorf("no such flag: did you mean --%s?", near)
}

// All obeys all flags among the words and returns the others.
func All(words []string, find func(name string) Flag) (others []string, err error) {
	for len(words) > 0 {
		if !Is(words[0]) {
			others, words = append(others, words[0]), words[1:]
			continue
		}
		if words, err = Next(words, find); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// Cut cuts a flag without a value off a line whose rest is an expression: a line that begins with another dash
// is all expression.
func Cut(line, name string) (rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	word := line
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		word, rest = line[:i], strings.TrimLeft(line[i:], " \t")
	}
	if !Is(word) || strings.TrimPrefix(word[1:], "-") != name {
		return line, false
	}
	return rest, true
}

// Program obeys the flags before a program and returns the program with its arguments: the words from the first
// that is no flag, or behind --, --args or -args.
func Program(words []string, find func(name string) Flag) (program []string, err error) {
	for len(words) > 0 {
		if word := words[0]; word == "--" || word == "--args" || word == "-args" {
			return words[1:], nil
		}
		if !Is(words[0]) {
			return words, nil
		}
		if words, err = Next(words, find); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
