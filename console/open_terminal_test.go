package console

import (
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/testprogs"
)

// A capture is looked at beside a process, which stands where it stood.
func TestOpenBesideAProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	capture := filepath.Join(dir, "other.hdb")
	if out, err := exec.Command(testprogs.HDB(t), "record", "-q", "-o", capture, testprogs.Build(t, "phases")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := newGlass(t, 30, 110)
	g.say(testprogs.HDB(t) + " -nx -q " + testprogs.Build(t, "basic"))
	g.see("\n(hdb)")
	g.say("set confirm off")
	g.say("start > /dev/null")
	g.see("main()", "\n(hdb)")
	g.say("open " + filepath.Join(dir, "none.hdb"))
	g.see("error: open ", "no such file or directory", "\n(hdb)")
	g.say("open " + capture)
	g.see("nested console on", "116 events over", "\n(hdb)")
	g.say("top 1")
	g.see("by the peak", "\n(hdb)")
	g.say("quit")
	g.see("back at process", "\n(hdb)")
	g.say("print $_thread")
	g.see("$1 = 1", "\n(hdb)")
	g.say("bt 1")
	g.see("main(", "\n(hdb)")
}
