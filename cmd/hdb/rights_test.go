package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hdb/testprogs"
)

// What only root may read does not get into what hdb says or writes because somebody's program names it as its
// source. Recordings are nobody else's to read, either.
func TestSourcesByTheRightsOfTheProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be made to read what others may not")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "hdb-rights-") // t.TempDir is root's alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	secret, source, program := filepath.Join(dir, "secret"), filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	text := fmt.Sprintf("#include <stdlib.h>\n#include <unistd.h>\n#line 1 %q\nint main(void) {\n\tvoid *volatile p = malloc(7777);\n\twrite(1, \"x\", 1);\n\tpause();\n\tfree(p);\n}\n", secret)
	for path, content := range map[string]string{secret: strings.Repeat("TOPSECRET\n", 9), source: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(testprogs.Tool(t, "gcc"), "-g", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, program: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(program, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	capture := filepath.Join(dir, "out.hdb")
	cmd := exec.Command(program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-p", fmt.Sprint(cmd.Process.Pid), "-ex", "list main", "-ex", "record start", "-ex", "mark here", "-ex", "save " + capture, "-ex", "detach"},
		{"-ex", "list main", program},
	} {
		said, _ := exec.Command(testprogs.HDB(t), append([]string{"-nx", "-q", "-batch"}, args...)...).CombinedOutput()
		if want := fmt.Sprintf("%s: permission denied for user %d, who runs the program that names it", secret, nobody); bytes.Contains(said, []byte("TOPSECRET")) || !bytes.Contains(said, []byte(want)) {
			t.Errorf("%q:\n%s", args, said)
		}
	}
	st, err := os.Stat(capture)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("the capture has mode %v", st.Mode())
	}
	if err := os.Chmod(capture, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, _ := exec.Command(testprogs.HDB(t), "-nx", "-q", "-batch", "-ex", "list main", capture).CombinedOutput(); bytes.Contains(said, []byte("TOPSECRET")) {
		t.Errorf("the capture:\n%s", said)
	}
}
