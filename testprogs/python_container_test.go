package testprogs

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const containedScript = `import time

kept = []


def grow():
    kept.append(bytearray(777_777))  # inside


print("ready", flush=True)
while len(kept) < 1000:
    grow()
    time.sleep(0.02)
`

// TestPythonInContainer attaches to an interpreter that sees other files: below another root
// directory, and by the same names in a mount namespace of its own.
func TestPythonInContainer(t *testing.T) {
	dir := t.TempDir()
	in, kept, root := filepath.Join(dir, "in"), filepath.Join(dir, "kept"), filepath.Join(dir, "root")
	for _, d := range []string{in, kept, root} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(kept, "app.py"), containedScript)
	write(filepath.Join(in, "app.py"), strings.ReplaceAll(containedScript, "inside", "outside"))
	mount := "mount -t tmpfs none " + in + " && cp -p " + kept + "/* " + in
	for name, script := range map[string]string{
		"mounts": mount + " && exec /usr/bin/python3 " + in + "/app.py",
		"root":   "mount --rbind / " + root + " && mount -t tmpfs none " + root + "/mnt && cp -p " + kept + "/* " + root + "/mnt && exec chroot " + root + " /usr/bin/python3 /mnt/app.py",
	} {
		if testing.Short() && name != "root" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, "unshare", "-m", "sh", "-c", script)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var errw bytes.Buffer
			cmd.Stderr = &errw
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				cancel()
				_ = cmd.Wait() // it was killed
			}()
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
				_ = cmd.Wait()
				if strings.Contains(errw.String(), "not permitted") || strings.Contains(errw.String(), "denied") {
					t.Skipf("no mount namespace: %s", errw.String())
				}
				t.Fatalf("%q %v\n%s", line, err, errw.String())
			}
			pid := strconv.Itoa(cmd.Process.Pid)
			asked, err := exec.Command(HDB(t), "py", pid).CombinedOutput()
			if err != nil || !bytes.Contains(asked, []byte("app.py")) {
				t.Errorf("py: %v\n%s", err, asked)
			}
			asked, err = exec.Command(HDB(t), "-nx", "-batch", "-ex", "record start", "-ex", `tbreak alloc if caller("grow") && size > 700000`,
				"-ex", "continue", "-ex", "py list", "-ex", `top 1 by count`, "-p", pid).CombinedOutput()
			if err != nil || bytes.Count(asked, []byte("# inside")) < 2 || bytes.Contains(asked, []byte("# outside")) || !bytes.Contains(asked, []byte("app.py:7")) {
				t.Errorf("%v\n%s", err, asked)
			}
		})
	}
}
