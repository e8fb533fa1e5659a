package probe

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	_ "hdb/testprogs" // the same environment everywhere
)

// keeperEnv makes this test's binary one that holds futexes and is killed.
const keeperEnv = "HDB_TEST_KEEPER"

func TestMain(m *testing.M) {
	if os.Getenv(keeperEnv) != "" {
		holdFutexes()
	}
	os.Exit(m.Run())
}

// holdFutexes holds the futexes of the memory files 3 to 5, gives the one of 5
// back, and waits to be killed.
func holdFutexes() {
	for fd := 3; fd <= 5; fd++ {
		s, err := mapShared(os.Getpid(), fd, ringSize)
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		keep().hold(s)
		if fd == 5 {
			keep().release(s)
		}
	}
	os.Stdout.WriteString("ready\n")
	time.Sleep(time.Minute)
	os.Exit(1)
}

// When hdb is killed the kernel says so in the memory that it shares with its
// inferiors.
func TestKeeper(t *testing.T) {
	for _, sig := range []os.Signal{unix.SIGKILL, unix.SIGTERM} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), keeperEnv+"=1")
		var mine []*shared
		for range 3 {
			fd, err := unix.MemfdCreate("probe test", memfdFlags)
			if err != nil {
				t.Fatal(err)
			}
			s, err := mapShared(os.Getpid(), fd, ringSize)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			mine = append(mine, s)
			cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), "memory"))
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "ready\n" {
			t.Fatalf("the helper says %q, %v", line, err)
		}
		tid := mine[0].half(hdAlive).Load()
		if tid == 0 || tid&ownerDied != 0 || mine[1].half(hdAlive).Load() != tid {
			t.Errorf("held by %#x and %#x", tid, mine[1].half(hdAlive).Load())
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		for i, s := range mine[:2] {
			if v := s.half(hdAlive).Load(); v&ownerDied == 0 {
				t.Errorf("after %v futex %d is %#x", sig, i, v)
			}
		}
		if v := mine[2].half(hdAlive).Load(); v&ownerDied != 0 {
			t.Errorf("after %v the futex that was given back is %#x", sig, v)
		}
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}
}
