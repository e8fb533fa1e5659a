package session

import (
	"fmt"
	"os"
	"strings"

	"hdb/internal/procfs"
	"hdb/session/target"
)

// A ProcWord is a file of /proc that tells about a process.
type ProcWord string

// The words of info proc.
const (
	ProcCmdline ProcWord = "cmdline"
	ProcCwd     ProcWord = "cwd"
	ProcExe     ProcWord = "exe"
	ProcStat    ProcWord = "stat"
	ProcStatus  ProcWord = "status"
)

// ProcText is what the kernel tells about the process by that word: links are read, and the words
// of a command line are printed with blanks between them. A core file has the command line, cut at
// 80 bytes, and the program.
func (s *Session) ProcText(word ProcWord) (string, error) {
	if core, open := s.Cores.Opened(); open {
		switch word {
		case ProcCmdline:
			return core.Args, nil
		case ProcExe:
			return core.Program, nil
		}
		return "", fmt.Errorf("%s: not in a core file: info proc shows what it has", word)
	}
	pid, _, _, lives := s.Process()
	if !lives {
		return "", target.ErrNotRunning
	}
	path := procfs.Path(pid, string(word))
	if word == ProcCwd || word == ProcExe {
		return os.Readlink(path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(b), "\x00\n")
	return strings.ReplaceAll(text, "\x00", " "), nil
}
