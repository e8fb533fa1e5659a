package testprogs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// containedSource waits below a function of its own.
const containedSource = `#include <stdio.h>
#include <unistd.h>

static void wait_inside(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
	pause(); /* as it is inside */
}

int main(void)
{
	wait_inside();
	return 0;
}
`

// An attached process in a mount namespace of its own has other files by the same names: the
// program and its source are those that it sees.
func TestAttachToAContainer(t *testing.T) {
	dir := t.TempDir()
	in, kept := filepath.Join(dir, "in"), filepath.Join(dir, "kept")
	for _, d := range []string{in, kept} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(in, "contained.c")
	write := func(text string) {
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tell := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	write(containedSource)
	tell(Tool(t, "gcc"), "-g", "-O0", "-o", filepath.Join(in, "contained"), source)
	tell("cp", "-p", source, filepath.Join(in, "contained"), kept)
	write(strings.ReplaceAll(containedSource, "inside */", "outside */")) // and older than the program
	tell("cp", "/bin/true", filepath.Join(in, "contained"))

	ctx, cancel := Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-m", "sh", "-c", "mount -t tmpfs none "+in+" && cp -p "+kept+"/* "+in+" && exec "+in+"/contained")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	ready, err := bufio.NewReader(out).ReadString('\n')
	pid, ok := strings.CutPrefix(strings.TrimSpace(ready), "ready ")
	if !ok {
		t.Skipf("no mount namespace can be made here: %q, %v", ready, err)
	}
	hdb := exec.CommandContext(ctx, HDB(t), "-nx", "-batch", "-p", pid, "-ex", "bt", "-ex", "list wait_inside")
	text, err := hdb.CombinedOutput()
	if err != nil {
		t.Errorf("hdb: %v", err)
	}
	for _, want := range []string{"wait_inside()", "contained.c:8", "as it is inside"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() || strings.Contains(string(text), "outside") {
		t.Errorf("hdb said\n%s", text)
	}
}
