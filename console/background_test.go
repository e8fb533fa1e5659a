package console

import (
	"os"
	"os/exec"
	"testing"

	"hdb/testprogs"
)

// TestBackgroundTerminal has a person ask and type while the program runs, and the stop
// come in the middle of a line, which stays.
func TestBackgroundTerminal(t *testing.T) {
	k := newKeyboard(t, exec.Command(os.Args[0]))
	say := func(line, answer string) {
		t.Helper()
		k.press(line + keyEnter)
		k.expect(answer)
		k.expect("(hdb) ")
	}
	k.expect("(hdb) ")
	say("file "+testprogs.Build(t, "background"), "")
	say("record start", "recording")
	say("handle SIGUSR1 nopass", "SIGUSR1")
	say("run made &", "")
	say("shell until test -e made; do sleep 0.01; done; rm made", "")
	say("top", "background.c:13")
	say("bt", "error: bt: the program runs: interrupt stops it")
	k.press("bt" + keyCtrlC) // gives up the line, not the run
	k.expect("^C")
	k.expect("(hdb) ")
	say("info proz"+keyTab, "error")
	k.press("echo a line ") // which is there still when the program stops
	k.expect("echo a line ")
	if err := exec.Command("pkill", "-USR1", "-f", testprogs.Build(t, "background")+" made").Run(); err != nil {
		t.Fatal(err)
	}
	k.expect("SIGUSR1")
	k.expect("(hdb) echo a line ")
	k.press("stays" + keyEnter)
	k.expect("\na line stays\r\n")
	k.expect("(hdb) ")
	say("bt 1", "#0* pause()")
	say("continue &", "")
	say("interrupt", "interrupted")
	say("continue &", "")
	k.press(keyCtrlD)
	k.expect("quit\r\n")
	k.expect("interrupted")
	k.expect("? (y, n, or c to stay) ")
	k.press("n" + keyEnter)
	k.expect("(y or n) ")
	k.press("y" + keyEnter)
	if err := k.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
