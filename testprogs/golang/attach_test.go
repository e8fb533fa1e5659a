package golang

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

// recorded matches what hdb says of a recording; on a busy machine 50 ms may be one event.
var recorded = regexp.MustCompile(` events?, `)

// TestAttach attaches to a program under load again and again, and kills hdb every third time:
// the program goes on, and what it then says of itself is right. Memory that is freed and used
// all the same ends it (clobberfree), and so does a block that the collector marks in one way
// and would not in another (gccheckmark).
func TestAttach(t *testing.T) {
	rounds := 6
	if !testing.Short() {
		rounds = 200
	}
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			program := build(t, "stress", toolchain)
			attach(t, program, "clobberfree=1", rounds)
			if !testing.Short() || toolchain == "local" {
				attach(t, program, "gccheckmark=1", rounds)
			}
		})
	}
}

func attach(t *testing.T, program, debug string, rounds int) {
	cmd := exec.Command(program, "-")
	cmd.Env = append(os.Environ(), "GODEBUG="+debug, "GOGC=20")
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for i := range rounds {
		path := filepath.Join(t.TempDir(), "capture.hdb")
		args := []string{"record", "-o", path, "--duration", "50ms", "-p", fmt.Sprint(cmd.Process.Pid)}
		if i%3 == 2 { // killed at some time, be it while it attaches or records
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(30+(i*37)%300)*time.Millisecond)
			_ = exec.CommandContext(ctx, testprogs.HDB(t), args...).Run() // as it comes
			cancel()
			continue
		}
		b, err := exec.Command(testprogs.HDB(t), args...).CombinedOutput()
		if err != nil || !recorded.Match(b) || strings.Contains(string(b), "plain breakpoints") {
			t.Fatalf("attached the %d. time: %v\n%s%s", i+1, err, b, &said)
		}
	}
	in.Close()
	text, _ := bufio.NewReader(out).ReadString('\n')
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(text, "allocs ") {
		t.Errorf("%s: %v: it said %q and %s", debug, err, text, &said)
	}
}
