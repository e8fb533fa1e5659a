package shell

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/internal/spelling"
)

// A Setting is a row of the table behind set, show, config and completion.
type Setting struct {
	Name    string // one or two words
	Kind    SettingKind
	Values  []string // of an enumeration
	Default string
	Help    string
	Unsaid  bool // not written by `config -save`: it belongs to one session
	// Get reads a setting that is kept elsewhere; nil: the shell keeps it.
	Get func() string
	// Apply makes a checked value take effect.
	Apply func(value string) error
	// Unset takes a part of it out, which line names; nil: unset sets it to its default.
	Unset func(line string) error
}

type SettingKind uint8

const (
	KindText SettingKind = iota
	KindBool
	KindSwitch // kindBool or auto
	KindCount  // 0 or more; "unlimited" is 0
	KindEnum
	KindFile
)

// Settings are the settings of a shell and their values.
type Settings struct {
	c      *Shell
	Table  []*Setting
	values map[string]string // of settings that are not at their default
	unread error             // why the user's configuration was not read, nil if it was or there is none
}

// Value is the setting's value in its canonical spelling.
func (t *Settings) Value(name string) string {
	for _, s := range t.Table {
		if s.Name == name {
			return t.current(s)
		}
	}
	return ""
}

func (t *Settings) current(s *Setting) string {
	if s.Get != nil {
		return s.Get()
	}
	if v, ok := t.values[s.Name]; ok {
		return v
	}
	return s.Default
}

// Flag is a boolean setting.
func (t *Settings) Flag(name string) bool { return t.Value(name) == "on" }

// Count is a numeric setting.
func (t *Settings) Count(name string) int {
	n, _ := strconv.Atoi(t.Value(name)) // checked when it was set
	return n
}

// find resolves the setting at the beginning of a line; each of its
// words may be a prefix. rest is the value.
func (t *Settings) find(line string) (s *Setting, rest string, err error) {
	first, after := SplitWord(line)
	second, behind := SplitWord(after)
	var hits, half []*Setting // half: of a name of two words only the first fits
	for _, s := range t.Table {
		words := strings.Fields(s.Name)
		switch {
		case !strings.HasPrefix(words[0], first):
			continue
		case len(words) == 1 && words[0] == first:
			return s, after, nil
		case len(words) == 2 && words[1] == second:
			return s, behind, nil
		case len(words) == 2 && second != "" && !strings.HasPrefix(words[1], second):
			half = append(half, s)
			continue
		case len(words) == 2:
			rest = behind
		default:
			rest = after
		}
		hits = append(hits, s)
	}
	if len(hits) == 1 && (len(half) == 0 || strings.Contains(hits[0].Name, " ")) {
		return hits[0], rest, nil
	}
	for _, full := range []string{"set " + first + " " + second, "set " + first} {
		if err := t.c.Table.Missing(full); err != nil {
			return nil, "", err
		}
	}
	var names []string
	for _, h := range append(hits, half...) {
		names = append(names, h.Name)
	}
	switch {
	case len(names) == 1:
		return nil, "", fmt.Errorf("unknown setting %q: did you mean %q?", line, names[0])
	case len(names) > 1:
		return nil, "", fmt.Errorf("ambiguous setting %q: %s", first, strings.Join(names, ", "))
	}
	if near := spelling.Nearest(first, t.names()); near != "" {
		return nil, "", fmt.Errorf("unknown setting %q: did you mean %q?", first, near)
	}
	return nil, "", fmt.Errorf("unknown setting %q: see `show`", first)
}

func (t *Settings) names() []string {
	var names []string
	for _, s := range t.Table {
		names = append(names, s.Name)
	}
	return names
}

// assign checks and stores a value.
func (t *Settings) assign(s *Setting, value string) error {
	v, err := s.Parse(strings.TrimSpace(value))
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if s.Apply != nil {
		if err := s.Apply(v); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if s.Get == nil {
		t.values[s.Name] = v
	}
	t.c.Layout()
	return nil
}

// Parse brings a value into its canonical spelling.
func (s *Setting) Parse(v string) (string, error) {
	switch s.Kind {
	case KindBool, KindSwitch:
		switch strings.ToLower(v) {
		case "", "on", "1", "yes", "true", "enable":
			return "on", nil
		case "off", "0", "no", "false", "disable":
			return "off", nil
		}
		if s.Kind == KindSwitch {
			if strings.ToLower(v) == "auto" {
				return "auto", nil
			}
			return "", fmt.Errorf("%q: on, off or auto expected", v)
		}
		return "", fmt.Errorf("%q: on or off expected", v)
	case KindCount:
		if v == "unlimited" {
			return "0", nil
		}
		n, err := strconv.ParseUint(v, 0, 31)
		if err != nil {
			return "", fmt.Errorf("%q: a number or unlimited expected", v)
		}
		return strconv.FormatUint(n, 10), nil
	case KindEnum:
		var hits []string
		for _, known := range s.Values {
			if known == v {
				return v, nil
			}
			if v != "" && strings.HasPrefix(known, v) {
				hits = append(hits, known)
			}
		}
		if len(hits) == 1 {
			return hits[0], nil
		}
		return "", fmt.Errorf("%q: one of %s expected", v, strings.Join(s.Values, ", "))
	case KindFile:
		return line.ExpandHome(v), nil
	}
	// gdb users quote a prompt to keep its blank at the end.
	if unquoted, err := strconv.Unquote(v); err == nil && len(v) > 1 && v[0] == '"' && s.Name == "prompt" {
		return unquoted, nil
	}
	return v, nil
}

// unset sets a setting back to its default, or takes a part out of it.
func (t *Settings) unset(line string) error {
	s, rest, err := t.find(line)
	switch {
	case err != nil:
		return err
	case s.Unset != nil:
		return s.Unset(rest)
	}
	return t.assign(s, s.Default)
}
