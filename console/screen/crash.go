package screen

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
)

// A crashNet is a process that gives the terminal back when hdb cannot: it was
// killed, or panics on a goroutine without the console's deferred calls. It waits
// for the end of a pipe that hdb holds, to which Go's runtime writes what it
// has to say of a panic; that is printed on the screen that was there before. The
// shell may have prompted by then, on the other screen: Enter makes it do so again.
type crashNet struct {
	cmd   *exec.Cmd
	pipe  *os.File
	aside func(func() error) error
}

// netDone tells a net that it has nothing to do.
const netDone = "done"

// netScript restores the modes at the first word of a panic: a shell takes over
// those that it finds when hdb has ended, unless that was by a signal.
const netScript = `read -r said
[ "$said" = %s ] && exit
stty sane <&1
more=$(cat)
printf '%s'
printf '%%s\n' "$said" "$more"`

// newCrashNet is nil where no such process can be started: the split screen does
// without.
func newCrashNet(tty *os.File, aside func(func() error) error) *crashNet {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(netScript, netDone, strings.ReplaceAll(leaveScreen, "\x1b", `\033`)))
	// A session of its own: no key of the terminal is a signal to it, and the shell
	// that hdb was started from does not stop it.
	cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = r, tty, &syscall.SysProcAttr{Setsid: true}
	if err := aside(cmd.Start); err != nil {
		w.Close()
		return nil
	}
	if err := debug.SetCrashOutput(w, debug.CrashOptions{}); err != nil {
		w.Close()
		_ = aside(cmd.Wait)
		return nil
	}
	return &crashNet{cmd: cmd, pipe: w, aside: aside}
}

// close ends the process without a trace.
func (n *crashNet) close() {
	if n == nil {
		return
	}
	_, _ = n.pipe.WriteString(netDone + "\n")
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	n.pipe.Close()
	_ = n.aside(n.cmd.Wait)
}
