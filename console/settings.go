package console

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/internal/outfile"
	"hdb/internal/regular"
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
	get func(c *Console) string
	// apply gives the session the new value, after it was checked.
	apply func(c *Console, value string) error
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
	c      *Console
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
		return s.get(t.c)
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
		if err := s.apply(t.c, v); err != nil {
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

// historyPath is $HDB_HISTFILE, or hdb/history under $XDG_STATE_HOME.
func historyPath(getenv func(string) string) string {
	if p := getenv("HDB_HISTFILE"); p != "" {
		return p
	}
	return xdgPath(getenv, "XDG_STATE_HOME", ".local/state", "history")
}

// xdgPath is a file of hdb's under an XDG base directory, "" without a home.
// (XDG Base Directory Specification 0.8: a relative value is ignored.)
func xdgPath(getenv func(string) string, variable, fallback, name string) string {
	dir := getenv(variable)
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, fallback)
	}
	return filepath.Join(dir, "hdb", name)
}

// configPath is where the user's own configuration lies.
func configPath(getenv func(string) string) string {
	return xdgPath(getenv, "XDG_CONFIG_HOME", ".config", "config")
}

// saveConfig writes the settings that differ from their default, and the
// aliases, as commands.
func saveConfig(c *Console) (string, error) {
	path := configPath(c.cfg.Getenv)
	if path == "" {
		return "", errors.New("config: neither XDG_CONFIG_HOME nor HOME is set")
	}
	if why := c.set.unread; why != nil {
		return "", fmt.Errorf("config: %s was not read, and saving would lose what it holds: %w", path, why)
	}
	var b strings.Builder
	b.WriteString("# hdb's configuration, rewritten by `config -save`: commands, one a line\n")
	for _, s := range c.set.table {
		v := c.set.current(s)
		if s.unsaid || v == s.def {
			continue
		}
		if s.name == "prompt" {
			v = strconv.Quote(v)
		}
		fmt.Fprintf(&b, "set %s %s\n", s.name, v)
	}
	var names []string
	for name := range c.interp.aliases {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "alias %s = %s\n", name, c.interp.aliases[name])
	}
	return path, outfile.WritePrivate(path, b.String())
}

// readConfig runs the system's and the user's files, before anything is loaded: they say
// where debug files are. The project's come afterwards.
func readConfig(c *Console) {
	own := configPath(c.cfg.Getenv)
	if c.cfg.NoInit {
		if _, err := os.Lstat(own); err == nil {
			c.set.unread = errors.New("hdb was started with -nx")
		}
		return
	}
	for _, path := range []string{"/etc/hdb/config", own} {
		if path == "" {
			continue
		}
		if err := readInit(c, path); err != nil {
			c.Notify(fmt.Sprintf("%s is not read: %v", path, err))
			if path == own {
				c.set.unread = err
			}
		}
	}
}

// readInit runs a file of commands if nobody but the user and root can have written it, as such a file can run programs.
// It runs the very text that was checked.
func readInit(c *Console, path string) error {
	file, st, err := regular.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer file.Close()
	mode := st.Mode().Perm()
	if mode&0o002 == 0 {
		mode &^= 0o020 // the group is often the user's own
	}
	if err := private(ownerOf(st), mode); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, line.MaxLine+1))
	if err != nil {
		return err
	}
	c.interp.runFile(path, text)
	return nil
}
