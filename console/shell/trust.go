package shell

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hdb/console/line"
	"hdb/internal/outfile"
	"hdb/internal/regular"
)

// projectFile is the name of the file of commands that a project has in its directory.
const projectFile = ".hdb"

// A trustedFile is a project file as it was when the user said to trust it. Its
// commands can run anything: a file that has changed since is not read.
type trustedFile struct {
	dir    string // by its real path
	digest string // SHA-256 of the content in hexadecimal digits, "" by an older hdb, which noted none
	owner  uint32 // user ID
	mode   fs.FileMode
}

// String is the line of the list of trusted files.
func (f trustedFile) String() string {
	return fmt.Sprintf("%s %d %04o %s", f.digest, f.owner, f.mode, f.dir)
}

// parseTrusted reads a line of the list. A line of an older hdb is a directory alone.
func parseTrusted(line string) (f trustedFile, ok bool) {
	if filepath.IsAbs(line) {
		return trustedFile{dir: line}, true
	}
	words := strings.SplitN(line, " ", 4)
	if len(words) < 4 || len(words[0]) != 2*sha256.Size || !filepath.IsAbs(words[3]) {
		return f, false
	}
	owner, ownerErr := strconv.ParseUint(words[1], 10, 32)
	mode, modeErr := strconv.ParseUint(words[2], 8, 12)
	return trustedFile{words[3], words[0], uint32(owner), fs.FileMode(mode)}, ownerErr == nil && modeErr == nil
}

// readProject reads the project file of a directory, and tells what would be trusted.
func readProject(dir string) (text []byte, f trustedFile, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, f, err
	}
	if f.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, f, err
	}
	file, st, err := regular.Open(filepath.Join(f.dir, projectFile))
	if err != nil {
		return nil, f, err
	}
	defer file.Close()
	if text, err = io.ReadAll(io.LimitReader(file, line.MaxLine+1)); err != nil {
		return nil, f, err
	}
	f.owner, f.mode = ownerOf(st), st.Mode().Perm()
	f.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	return text, f, nil
}

// ownerOf is the user ID of a file's owner.
func ownerOf(st fs.FileInfo) uint32 { return st.Sys().(*syscall.Stat_t).Uid }

// private says why others than the user and root may write a file, or nil.
func private(owner uint32, mode fs.FileMode) error {
	switch {
	case owner != uint32(os.Geteuid()) && owner != 0:
		return fmt.Errorf("it belongs to user %d, not to you (%d) or root", owner, os.Geteuid())
	case mode&0o022 != 0:
		return fmt.Errorf("it is writable by others (mode %04o): chmod go-w", mode)
	}
	return nil
}

// trustPath is the file that lists the project files that are read, one a line.
func trustPath(getenv func(string) string) string {
	return xdgPath(getenv, "XDG_CONFIG_HOME", ".config", "trusted")
}

// trusted are the project files of the list, which has to be the user's own.
func trusted(path string) ([]trustedFile, error) {
	if path == "" {
		return nil, nil
	}
	file, st, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := private(ownerOf(st), st.Mode().Perm()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	var list []trustedFile
	for line := range strings.SplitSeq(string(b), "\n") {
		if f, ok := parseTrusted(line); ok {
			list = append(list, f)
		}
	}
	return list, nil
}

// distrust says why a project file is not read, or nil. It ends in what to do.
func distrust(now trustedFile, list []trustedFile) error {
	if err := private(now.owner, now.mode); err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(f trustedFile) bool { return f.dir == now.dir })
	why := ""
	switch {
	case i < 0:
		return fmt.Errorf("its directory is not trusted (`trust %s` to read it from now on)", now.dir)
	case list[i].digest == "":
		why = "its directory was trusted by an older hdb, without a check of the file"
	case list[i].digest != now.digest:
		why = "it was changed since it was trusted"
	case list[i].owner != now.owner:
		why = fmt.Sprintf("it belonged to user %d when it was trusted, and now to %d", list[i].owner, now.owner)
	case list[i].mode != now.mode:
		why = fmt.Sprintf("its mode was %04o when it was trusted, and is %04o", list[i].mode, now.mode)
	default:
		return nil
	}
	return fmt.Errorf("%s (look at it, then `trust %s` to read it from now on)", why, now.dir)
}

// ReadProjectFile runs the project file of the working directory if it is trusted: the
// very text that was compared.
func (c *Shell) ReadProjectFile() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	text, now, err := readProject(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, regular.ErrNotRegular):
		return
	case err != nil:
		c.Notify(fmt.Sprintf("%s is not read: %v", filepath.Join(dir, projectFile), err))
		return
	}
	path := filepath.Join(now.dir, projectFile)
	list, err := trusted(trustPath(c.Opt.Getenv))
	if err == nil {
		err = distrust(now, list)
	}
	if err != nil {
		c.Notify(fmt.Sprintf("%s is not read: %v", path, err))
		return
	}
	c.interp.runFile(path, text)
}

// trustProject adds the project file of a directory, as it is now, to the list at path.
func trustProject(path, dir string) (trustedFile, error) {
	_, now, err := readProject(line.ExpandHome(dir))
	if err != nil {
		return now, fmt.Errorf("trust: %w", err)
	}
	if err := private(now.owner, now.mode); err != nil {
		return now, fmt.Errorf("trust: %s: %w", filepath.Join(now.dir, projectFile), err)
	}
	if strings.Contains(now.dir, "\n") {
		return now, fmt.Errorf("trust: %q: a name with a newline cannot be trusted", now.dir)
	}
	if path == "" {
		return now, errors.New("trust: neither XDG_CONFIG_HOME nor HOME is set")
	}
	list, err := trusted(path)
	if err != nil {
		return now, fmt.Errorf("trust: %w", err)
	}
	var b strings.Builder
	for _, f := range list {
		switch {
		case f.dir == now.dir:
		case f.digest == "":
			fmt.Fprintln(&b, f.dir)
		default:
			fmt.Fprintln(&b, f)
		}
	}
	fmt.Fprintln(&b, now)
	return now, outfile.WritePrivate(path, b.String())
}

func runTrust(_ context.Context, c *Shell, in Input) error {
	if len(in.Args) > 0 {
		f, err := trustProject(trustPath(c.Opt.Getenv), in.Args[0])
		if err != nil {
			return err
		}
		c.Say("%s is trusted: it is read when hdb starts there, until it is changed", filepath.Join(f.dir, projectFile))
		return nil
	}
	list, err := trusted(trustPath(c.Opt.Getenv))
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	for _, f := range list {
		_, now, err := readProject(f.dir)
		if err == nil {
			err = distrust(now, list)
		}
		if err != nil {
			c.Out.Printf("%s: not read: %v\n", f.dir, err)
			continue
		}
		c.Out.Printf("%s\n", f.dir)
	}
	return nil
}
