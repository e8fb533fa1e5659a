package testprogs

import (
	"os/exec"
	"time"
)

// Command is a program with all that decides what it does: run twice, by
// whichever debugger, it makes the same calls. It reads no standard input.
type Command struct {
	Path string   // of the ELF file
	Args []string // without argv[0], which is Path
	Env  []string // the whole environment
	Dir  string   // the working directory
}

// Cmd returns c ready to run plainly.
func (c Command) Cmd() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.WaitDelay = time.Second
	return cmd
}
