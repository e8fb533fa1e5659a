package console

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/internal/spelling"
)

// A setting is a row of the table behind set, show, config and completion.
type setting struct {
	name   string // one or two words
	kind   settingKind
	values []string // of an enumeration
	def    string
	help   string
	unsaid bool // not written by `config -save`: it belongs to one session
	// get reads a setting that lives in the session; nil: the console keeps it.
	get func() string
	// apply gives the session the new value, after it was checked.
	apply func(value string) error
	// unset takes a part of it out, which line names; nil: unset sets it to its default.
	unset func(line string) error
}

type settingKind uint8

const (
	kindText settingKind = iota
	kindBool
	kindSwitch // kindBool or auto
	kindCount  // 0 or more; "unlimited" is 0
	kindEnum
	kindFile
)

// settings are the settings of a console and their values.
type settings struct {
	c      *Shell
	table  []*setting
	values map[string]string // of settings that are not at their default
	unread error             // why the user's configuration was not read, nil if it was or there is none
}

// value is the setting's value in its canonical spelling.
func (t *settings) value(name string) string {
	for _, s := range t.table {
		if s.name == name {
			return t.current(s)
		}
	}
	return ""
}

func (t *settings) current(s *setting) string {
	if s.get != nil {
		return s.get()
	}
	if v, ok := t.values[s.name]; ok {
		return v
	}
	return s.def
}

// flag is a boolean setting.
func (t *settings) flag(name string) bool { return t.value(name) == "on" }

// count is a numeric setting.
func (t *settings) count(name string) int {
	n, _ := strconv.Atoi(t.value(name)) // checked when it was set
	return n
}

// find resolves the setting at the beginning of a line; each of its
// words may be a prefix. rest is the value.
func (t *settings) find(line string) (s *setting, rest string, err error) {
	first, after := splitWord(line)
	second, behind := splitWord(after)
	var hits, half []*setting // half: of a name of two words only the first fits
	for _, s := range t.table {
		words := strings.Fields(s.name)
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
	if len(hits) == 1 && (len(half) == 0 || strings.Contains(hits[0].name, " ")) {
		return hits[0], rest, nil
	}
	var names []string
	for _, h := range append(hits, half...) {
		names = append(names, h.name)
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

func (t *settings) names() []string {
	var names []string
	for _, s := range t.table {
		names = append(names, s.name)
	}
	return names
}

// assign checks and stores a value.
func (t *settings) assign(s *setting, value string) error {
	v, err := s.parse(strings.TrimSpace(value))
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if s.apply != nil {
		if err := s.apply(v); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if s.get == nil {
		t.values[s.name] = v
	}
	t.c.layout()
	return nil
}

// parse brings a value into its canonical spelling.
func (s *setting) parse(v string) (string, error) {
	switch s.kind {
	case kindBool, kindSwitch:
		switch strings.ToLower(v) {
		case "", "on", "1", "yes", "true", "enable":
			return "on", nil
		case "off", "0", "no", "false", "disable":
			return "off", nil
		}
		if s.kind == kindSwitch {
			if strings.ToLower(v) == "auto" {
				return "auto", nil
			}
			return "", fmt.Errorf("%q: on, off or auto expected", v)
		}
		return "", fmt.Errorf("%q: on or off expected", v)
	case kindCount:
		if v == "unlimited" {
			return "0", nil
		}
		n, err := strconv.ParseUint(v, 0, 31)
		if err != nil {
			return "", fmt.Errorf("%q: a number or unlimited expected", v)
		}
		return strconv.FormatUint(n, 10), nil
	case kindEnum:
		var hits []string
		for _, known := range s.values {
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
		return "", fmt.Errorf("%q: one of %s expected", v, strings.Join(s.values, ", "))
	case kindFile:
		return line.ExpandHome(v), nil
	}
	// gdb users quote a prompt to keep its blank at the end.
	if unquoted, err := strconv.Unquote(v); err == nil && len(v) > 1 && v[0] == '"' && s.name == "prompt" {
		return unquoted, nil
	}
	return v, nil
}

// unset sets a setting back to its default, or takes a part out of it.
func (t *settings) unset(line string) error {
	s, rest, err := t.find(line)
	switch {
	case err != nil:
		return err
	case s.unset != nil:
		return s.unset(rest)
	}
	return t.assign(s, s.def)
}
