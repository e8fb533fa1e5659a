package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDistrust(t *testing.T) {
	me := uint32(os.Geteuid())
	good := trustedFile{"/p", strings.Repeat("ab", 32), me, 0o640}
	for _, c := range []struct {
		now  trustedFile
		want string
	}{
		{good, ""},
		{trustedFile{"/p", good.digest, 65534, 0o640}, fmt.Sprintf("it belongs to user 65534, not to you (%d) or root", me)},
		{trustedFile{"/p", good.digest, me, 0o642}, "it is writable by others"},
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
