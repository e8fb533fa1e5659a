package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestConfigNamesDebugFiles has a config file say where debug files are: of the program
// that the command line names, too, and of a process.
func TestConfigNamesDebugFiles(t *testing.T) {
	dir := t.TempDir()
	prog, debug := filepath.Join(dir, "worker"), filepath.Join(dir, "debug", dir, "worker.debug")
	for _, d := range []string{filepath.Dir(debug), filepath.Join(dir, "config", "hdb")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"--only-keep-debug", testprogs.Build(t, "worker"), debug},
		{"--strip-all", "--add-gnu-debuglink=" + debug, testprogs.Build(t, "worker"), prog},
	} {
		if out, err := exec.Command(testprogs.Tool(t, "objcopy"), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	config := "set debug-file-directory " + filepath.Join(dir, "debug") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "config", "hdb", "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(prog, "1")
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer in.Close() // it ends with its input
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for _, of := range [][]string{{prog}, {"-p", fmt.Sprint(process.Process.Pid)}} {
		cmd := exec.Command(testprogs.HDB(t), append([]string{"-batch", "-ex", "info line main"}, of...)...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
		if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "worker.c:") {
			t.Errorf("%q: %v\n%s", of, err, said)
		}
	}
}
