package shell

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
)

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
func saveConfig(c *Shell) (string, error) {
	path := configPath(c.Opt.Getenv)
	if path == "" {
		return "", errors.New("config: neither XDG_CONFIG_HOME nor HOME is set")
	}
	if why := c.Set.unread; why != nil {
		return "", fmt.Errorf("config: %s was not read, and saving would overwrite it: %w", path, why)
	}
	var b strings.Builder
	b.WriteString("# hdb's configuration, rewritten by `config -save`: commands, one a line\n")
	for _, s := range c.Set.Table {
		v := c.Set.current(s)
		if s.Unsaid || v == s.Default {
			continue
		}
		if s.Name == "prompt" {
			v = strconv.Quote(v)
		}
		fmt.Fprintf(&b, "set %s %s\n", s.Name, v)
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

// ReadConfig runs the system's and the user's files, before anything is loaded: they say
// where debug files are; none: it runs neither. The project's come afterwards.
func (c *Shell) ReadConfig(none, noHome bool) {
	own := configPath(c.Opt.Getenv)
	if noHome && !none {
		c.Set.unread = errors.New("hdb was started with -nh")
		own = ""
	}
	if none {
		if _, err := os.Lstat(own); err == nil {
			c.Set.unread = errors.New("hdb was started with -nx")
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
				c.Set.unread = err
			}
		}
	}
}

// readInit runs a file of commands if only the user and root can have written it, as such a file can run programs. It
// runs the very text that was checked.
func readInit(c *Shell, path string) error {
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
