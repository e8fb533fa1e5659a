package golang

import (
	"bufio"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/testprogs"
)

// TestKilledAtBreakpoints kills hdb while a program of Go that it has attached to comes to plain
// breakpoints all the time: it goes on. hdb says nothing of its handler of SIGTRAP.
func TestKilledAtBreakpoints(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	for _, toolchain := range toolchains() {
		program := build(t, "traps", toolchain)
		for _, stop := range []string{"break alloc if size >= 1GiB", "break main.work if n == 0"} {
			t.Run(toolchain+"/"+stop, func(t *testing.T) {
				cmd := exec.Command(program)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				var said strings.Builder
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Process.Kill()
				lines := bufio.NewReader(out)
				for range rounds {
					hdb := exec.Command(testprogs.HDB(t), "-batch", "-nx", "-p", strconv.Itoa(cmd.Process.Pid), "-ex", "set probe off", "-ex", stop, "-ex", "echo begun\n", "-ex", "continue")
					begun, err := hdb.StdoutPipe()
					if err != nil {
						t.Fatal(err)
					}
					if err := hdb.Start(); err != nil {
						t.Fatal(err)
					}
					reader, all := bufio.NewReader(begun), ""
					for line := ""; line != "begun\n"; all += line {
						if line, err = reader.ReadString('\n'); err != nil {
							t.Fatalf("%v: %s", err, all)
						}
					}
					if strings.Contains(all, "SIGTRAP") {
						t.Errorf("%s", all)
					}
					time.Sleep(rand.N(20 * time.Millisecond)) // any moment will do
					_ = hdb.Process.Kill()
					_ = hdb.Wait() // killed
					if _, err := in.Write([]byte("?\n")); err != nil {
						t.Fatalf("%v\n%.2000s", err, &said)
					}
					if line, err := lines.ReadString('\n'); line != "goes on\n" {
						t.Fatalf("%q, %v\n%.2000s", line, err, &said)
					}
				}
				// Its own SIGTRAPs reach it, with the handler that is left, and when hdb has let go.
				for range 2 {
					if err := cmd.Process.Signal(syscall.SIGTRAP); err != nil {
						t.Fatal(err)
					}
					if line, err := lines.ReadString('\n'); line != "trapped\n" {
						t.Fatalf("%q, %v\n%.2000s", line, err, &said)
					}
					if all, err := exec.Command(testprogs.HDB(t), "-batch", "-nx", "-p", strconv.Itoa(cmd.Process.Pid), "-ex", "break main.work", "-ex", "continue", "-ex", "detach").CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, all)
					}
				}
				in.Close()
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v\n%.2000s", err, &said)
				}
			})
		}
	}
}
