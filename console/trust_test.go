package console

import (
	"fmt"
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
	refused("others may write it, its mode is 0664")
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
	refused("others may write it, its mode is 0666")
	run("trust .") // refused, too: the list may be anybody's
	refused("others may write it")
}

func TestDistrust(t *testing.T) {
	me := uint32(os.Geteuid())
	good := trustedFile{"/p", strings.Repeat("ab", 32), me, 0o640}
	for _, c := range []struct {
		now  trustedFile
		want string
	}{
		{good, ""},
		{trustedFile{"/p", good.digest, 65534, 0o640}, fmt.Sprintf("it belongs to user 65534, neither to you (%d) nor to root", me)},
		{trustedFile{"/p", good.digest, me, 0o642}, "others may write it"},
		{trustedFile{"/p", good.digest[1:] + "0", me, 0o640}, "it was changed"},
		{trustedFile{"/p", good.digest, me, 0o440}, "its mode was 0640"},
		{trustedFile{"/q", good.digest, me, 0o640}, "not trusted"},
	} {
		err := distrust(c.now, []trustedFile{good})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.now, err, c.want)
		}
	}
	if err := distrust(good, []trustedFile{{"/p", good.digest, me + 1, 0o640}}); err == nil || !strings.Contains(err.Error(), "it belonged to user") {
		t.Errorf("another owner: %v", err)
	}
	for _, f := range []trustedFile{good, {"/with spaces in it", good.digest, 0, 0o444}} {
		if again, ok := parseTrusted(f.String()); !ok || again != f {
			t.Errorf("%v is read as %v", f, again)
		}
	}
	for _, line := range []string{"", "# text", "ab 0 0644 /p", good.digest + " 0 0644 p", good.digest + " x 0644 /p", good.digest + " 0 9 /p"} {
		if f, ok := parseTrusted(line); ok {
			t.Errorf("%q is read as %v", line, f)
		}
	}
}
