package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/capture/file"
	"hdb/testprogs"
)

// At a terminal quit offers to save what was recorded since the last save, once.
func TestQuitOffersToSave(t *testing.T) {
	program := testprogs.Build(t, "basic")
	cmd := exec.Command(os.Args[0])
	cmd.Dir = t.TempDir()
	k := newKeyboard(t, cmd)
	say := func(line, answer string) {
		k.press(line + keyEnter)
		k.expect(answer)
	}
	k.expect("(hdb) ")
	say("file "+program, "(hdb) ")
	say("start", "(hdb) ")
	say("record start", "(hdb) ")
	say("break free if size == 96", "(hdb) ")
	say("continue", "hit 1")
	k.expect("(hdb) ")
	say("quit", "events recorded and not saved. Save to basic.")
	say("maybe", "Please answer y, n or c.")
	say("c", "(hdb) ") // it stays
	say("save one.hdb", "saved ")
	k.expect("(hdb) ")
	say("quit", "Kill process")
	say("n", "(hdb) ")
	say("delete", "(y or n) ")
	say("y", "(hdb) ")
	say("continue", "exited with code 0")
	k.expect("(hdb) ")
	say("quit", "recorded and not saved. Save to basic.")
	say("y", "saved ")
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	saved, err := filepath.Glob(filepath.Join(cmd.Dir, "basic.*.hdb"))
	if err != nil || len(saved) != 1 || !file.Is(saved[0]) {
		t.Errorf("saved %q: %v", saved, err)
	}
}
