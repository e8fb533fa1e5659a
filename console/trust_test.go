package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProjectFileIsTrustedAsItWas changes a trusted file and the list of them.
func TestProjectFileIsTrustedAsItWas(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	run := func(lines ...string) (string, string) {
		st := newStage(t, func(c *Config) { c.NoInit = false }, lines...)
		st.env["HOME"] = home
		st.Run()
		return st.out.String(), st.err.String()
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	refused := func(why string) {
		t.Helper()
		if out, errs := run("echo asked"); out != "asked\n" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, ".hdb is not read: ") || !strings.Contains(errs, why) {
			t.Errorf("printed %q and %q, want that it is not read: %s", out, errs, why)
		}
	}
	read := func() {
		t.Helper()
		if out, errs := run(); out != "project\n" || errs != "" {
			t.Errorf("printed %q and %q, want the file to be read", out, errs)
		}
	}
	write(".hdb", "echo project\\n\n", 0o644)
	refused("its directory is not trusted (`trust ")
	if _, errs := run("trust ."); strings.Count(errs, "\n") != 1 {
		t.Errorf("trust: %q", errs)
	}
	read()
	if out, _ := run("trust"); !strings.HasSuffix(out, filepath.Base(dir)+"\n") {
		t.Errorf("trust lists %q", out)
	}
	write(".hdb", "echo changed\\n\n", 0o644)
	refused("it was changed since it was trusted")
	write(".hdb", "echo project\\n\n", 0o600)
	refused("its mode was 0644 when it was trusted, and is 0600")
	write(".hdb", "echo project\\n\n", 0o664)
	refused("it is writable by others (mode 0664)")
	if _, errs := run("trust ."); !strings.Contains(errs, "trust: ") || !strings.Contains(errs, "chmod go-w") {
		t.Errorf("trust of a file that others may write: %q", errs)
	}
	write(".hdb", "echo project\\n\n", 0o644)
	read()
	list := filepath.Join(home, ".config", "hdb", "trusted")
	write(list, dir+"\n", 0o600)
	refused("trusted by an older hdb")
	run("trust .")
	read()
	write(list, dir+"\n", 0o666)
	refused("it is writable by others (mode 0666)")
	run("trust .") // refused, too: the list may be anybody's
	refused("it is writable by others")
}
