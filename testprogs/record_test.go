package testprogs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"hdb/capture"
	"hdb/capture/file"
)

// recording is a running `hdb record`.
type recording struct {
	t    *testing.T
	cmd  *exec.Cmd
	file string // of -o
	out  buffer // of the program and of hdb
	done chan error
}

// buffer is what a process printed so far.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// recorder prepares `hdb record -o FILE ARGS...`.
func newRecording(t *testing.T, args ...string) *recording {
	t.Helper()
	r := &recording{t: t, file: filepath.Join(t.TempDir(), "r.hdb"), done: make(chan error, 1)}
	r.cmd = exec.Command(HDB(t), append([]string{"record", "-o", r.file}, args...)...)
	r.cmd.Dir = filepath.Dir(r.file)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return r
}

// start runs it, without a terminal.
func (r *recording) start() *recording {
	r.t.Helper()
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	r.t.Cleanup(func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	return r
}

// wait is hdb's exit code.
func (r *recording) wait() int {
	r.t.Helper()
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			r.t.Fatal(err)
		}
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(time.Until(Deadline(r.t))):
		r.t.Fatalf("hdb record does not end\n%s", r.out.String())
	}
	return 0
}

// until waits for what is printed.
func (r *recording) until(text string) {
	r.t.Helper()
	for end := Deadline(r.t); !strings.Contains(r.out.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%q is not printed:\n%s", text, r.out.String())
		}
	}
}

// programPID is what the program says of itself.
func (r *recording) programPID() int {
	r.t.Helper()
	r.until("ready")
	m := regexp.MustCompile(`ready (\d+)`).FindStringSubmatch(r.out.String())
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func (r *recording) wantExit(want int) {
	r.t.Helper()
	if got := r.wait(); got != want {
		r.t.Errorf("exit code %d, want %d\n%s", got, want, r.out.String())
	}
}

func (r *recording) wantSaid(want ...string) {
	r.t.Helper()
	for _, w := range want {
		if !strings.Contains(r.out.String(), w) {
			r.t.Errorf("%q is not in\n%s", w, r.out.String())
		}
	}
}

// open is the capture. complete tells that it was closed in good order.
func (r *recording) open(complete bool) *file.File {
	r.t.Helper()
	f, err := file.Open(r.file)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.out.String())
	}
	r.t.Cleanup(func() { f.Close() })
	if d := f.Damage(); (d == nil) != complete {
		r.t.Errorf("damage of the capture: %v", d)
	}
	if complete {
		if err := f.Check(); err != nil {
			r.t.Errorf("damage of the capture: %v", err)
		}
	}
	for _, line := range f.Verify() {
		r.t.Errorf("the capture is wrong: %s", line)
	}
	return f
}

// sizes counts the events of a kind by their size.
func sizes(f *file.File, kind capture.Kind) map[uint64]int {
	n := map[uint64]int{}
	for e := range f.Events(0) {
		if e.Kind == kind {
			n[e.Size]++
		}
	}
	return n
}

func TestRecordToTheEnd(t *testing.T) {
	t.Parallel()
	r := newRecording(t, "--return-child-result", Build(t, "recorded"), "20").start()
	r.wantExit(7)
	r.wantSaid("done", "live at the end 23.5 KiB (24096) in 21 blocks", "recorded: exited with code 7", "with symbols and source lines")
	f := r.open(true)
	if n := sizes(f, capture.Alloc); n[1000] != 20 || n[100] != 20 || n[109] != 20 {
		t.Errorf("allocations %v", n)
	}
	for e := range f.Events(0) {
		if e.Size != 1000 {
			continue
		}
		frames, ok := f.Symbol(f.Stack(e.Stack).PCs[0], true, e.Seq)
		if !ok || frames[0].Function != "keep" || frames[0].Line != 26 {
			t.Errorf("#%d allocated in %+v", e.Seq, frames)
		}
		break
	}
}

// The program dies of SIGKILL: all that it did before is in the file.
func TestRecordKilledProgram(t *testing.T) {
	t.Parallel()
	progress := filepath.Join(t.TempDir(), "progress")
	r := newRecording(t, Build(t, "storm_progress"), "kill", "200000", progress).start()
	r.wantExit(5)
	r.wantSaid("storm_progress: killed by SIGKILL")
	f := r.open(true)
	data, err := os.ReadFile(progress)
	if err != nil {
		t.Fatal(err)
	}
	calls := int(binary.LittleEndian.Uint64(data))
	found := 0
	for e := range f.Events(0) {
		if e.Kind == capture.Alloc || e.Kind == capture.Free {
			found++
		}
	}
	if found < calls || found > calls+1 {
		t.Errorf("%d events, the program made %d calls", found, calls)
	}
}

// hdb dies of SIGKILL: the file has what happened until a second before, and the
// program dies with it.
func TestRecordKilledRecorder(t *testing.T) {
	t.Parallel()
	r := newRecording(t, Build(t, "recorded"), "100000").start()
	pid := r.programPID()
	time.Sleep(2500 * time.Millisecond) // what the last second has may be lost
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait()
	f := r.open(false)
	if n := sizes(f, capture.Alloc)[1000]; n < 200 {
		t.Errorf("%d rounds are in the file", n)
	}
	waitGone(t, pid)
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := Deadline(t); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d lives", pid)
		}
	}
}

// background runs a program that is to be attached to.
func background(t *testing.T, path string, args ...string) *recording {
	t.Helper()
	HDB(t) // which may have to be built: the program would end meanwhile
	r := &recording{t: t, done: make(chan error, 1), cmd: exec.Command(path, args...)}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return r.start()
}

func TestRecordAttached(t *testing.T) {
	t.Parallel()
	program := background(t, Build(t, "recorded"), "3000")
	pid := program.programPID()
	r := newRecording(t, "-p", fmt.Sprint(pid), "--duration", "0.8").start()
	r.wantExit(0)
	r.wantSaid(fmt.Sprintf("process %d runs on; what it had allocated before is not in the recording", pid))
	if n := sizes(r.open(true), capture.Alloc)[1000]; n < 100 {
		t.Errorf("%d rounds were recorded", n)
	}
	program.wantExit(7)
	program.wantSaid("done")
}

// A file that gets another name while it is written is told by that.
func TestRecordRenamed(t *testing.T) {
	t.Parallel()
	program := background(t, Build(t, "recorded"), "6000")
	r := newRecording(t, "-p", fmt.Sprint(program.programPID())).start()
	other := filepath.Join(filepath.Dir(r.file), "other.hdb")
	for end := Deadline(t); os.Rename(r.file, other) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no file was made")
		}
	}
	program.wantExit(7)
	r.wantExit(0)
	r.wantSaid("hdb: "+other+": ", "hdb leaks "+other)
}

// Each signal to hdb ends the recording of a process, which goes on.
func TestRecordAttachedUntilSignal(t *testing.T) {
	t.Parallel()
	program := background(t, Build(t, "recorded"), "16000") // more than a busy machine needs for three recordings
	pid := program.programPID()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		r := newRecording(t, "-p", fmt.Sprint(pid)).start()
		waitTraced(t, pid)
		time.Sleep(time.Second) // nobody tells how much is recorded until the end
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		r.wantExit(0)
		if n := sizes(r.open(true), capture.Alloc)[1000]; n < 10 {
			t.Errorf("%v: %d rounds were recorded", sig, n)
		}
	}
	program.wantExit(7)
	program.wantSaid("done")
}

// waitTraced waits until hdb has attached.
func waitTraced(t *testing.T, pid int) {
	t.Helper()
	for end := Deadline(t); ; time.Sleep(5 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && !bytes.Contains(status, []byte("TracerPid:\t0\n")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody traces process %d: %v", pid, err)
		}
	}
}

// TestRecordToAFullPipeCanBeEnded records to a pipe whose reader does not read.
func TestRecordToAFullPipeCanBeEnded(t *testing.T) {
	t.Parallel()
	r := newRecording(t, Build(t, "recorded"), "300")
	if err := syscall.Mkfifo(r.file, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(r.file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// One page, which is less than the recording has.
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, reader.Fd(), 1031 /* F_SETPIPE_SZ */, 1); errno != 0 {
		t.Fatal(errno)
	}
	r.start().until("done")
	deadline := time.After(time.Until(Deadline(t)))
	for {
		select {
		case err := <-r.done:
			if st := r.cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signal() != syscall.SIGTERM {
				t.Errorf("%v: %v\n%s", err, st, r.out.String())
			}
			return
		case <-deadline:
			t.Fatal("hdb record goes on")
		case <-time.After(50 * time.Millisecond):
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// Without a terminal a signal to hdb alone reaches the program.
func TestRecordSignals(t *testing.T) {
	for _, tc := range []struct {
		name    string
		words   []string
		signals []syscall.Signal
		pause   time.Duration // between them
		exit    int
		said    string
	}{
		{"dies of Ctrl-C", nil, []syscall.Signal{syscall.SIGINT}, 0, 5, "the program has it"},
		{"handles Ctrl-C", []string{"catch"}, []syscall.Signal{syscall.SIGINT}, 0, 0, "interrupted"},
		{"second Ctrl-C kills", []string{"ignore"}, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, time.Second, 5, "kills the program"},
		{"late second Ctrl-C", []string{"catch"}, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 2300 * time.Millisecond, 0, "interrupted"},
		{"dies of SIGTERM", nil, []syscall.Signal{syscall.SIGTERM}, 0, 5, ""},
		{"second SIGTERM kills", []string{"ignore"}, []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, time.Second, 5, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRecording(t, append(append([]string{Build(t, "recorded")}, tc.words...), "4000")...).start()
			r.programPID()
			time.Sleep(300 * time.Millisecond) // for some rounds: nobody tells how many are recorded until the end
			for i, sig := range tc.signals {
				if i > 0 {
					time.Sleep(tc.pause)
				}
				if err := r.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			r.wantExit(tc.exit)
			r.wantSaid(tc.said, "with symbols and source lines")
			if n := sizes(r.open(true), capture.Alloc)[1000]; n < 10 {
				t.Errorf("%d rounds were recorded", n)
			}
		})
	}
}

// After the duration the program goes on to its end, and hdb waits for it.
func TestRecordForAWhile(t *testing.T) {
	t.Parallel()
	r := newRecording(t, "--return-child-result", "--duration", "500ms", Build(t, "recorded"), "1500").start()
	r.until("the recording has ended, recorded runs on: hdb waits for its end")
	if strings.Contains(r.out.String(), "done") {
		t.Error("the recording went on to the end of the program")
	}
	r.wantExit(7)
	r.wantSaid("done", "recorded: exited with code 7")
	if n := sizes(r.open(true), capture.Alloc)[1000]; n < 50 || n > 1400 {
		t.Errorf("%d rounds were recorded", n)
	}
}

func TestRecordFollowsExec(t *testing.T) {
	t.Parallel()
	r := newRecording(t, "--return-child-result", Build(t, "recorded"), "exec", "30").start()
	r.wantExit(7)
	f := r.open(true)
	if n := sizes(f, capture.Alloc)[1000]; n != 60 {
		t.Errorf("%d rounds were recorded, want 60", n)
	}
	r.wantSaid("is executing new program", " in 31 blocks")
}

// A recording is called by the program that it is of in the end.
func TestRecordIsCalledByTheLastProgram(t *testing.T) {
	t.Parallel()
	prog := Build(t, "recorded")
	r := newRecording(t, "--return-child-result", "sh", "-c", "exec "+prog+" 5").start()
	r.wantExit(7)
	f := r.open(true)
	if i := f.Info(); i.Program != prog || len(i.Args) != 1 || i.Args[0] != "5" || i.PID == 0 || i.Kernel == "" {
		t.Errorf("%+v", i)
	}
	if th := f.Threads(); len(th) != 1 || th[0].Name != "recorded" {
		t.Errorf("threads %+v", th)
	}
}

// A child of the program runs free.
func TestRecordLeavesForksAlone(t *testing.T) {
	t.Parallel()
	r := newRecording(t, "--return-child-result", Build(t, "recorded"), "fork", "30").start()
	r.wantExit(7)
	if n := sizes(r.open(true), capture.Alloc)[1000]; n != 30 {
		t.Errorf("%d rounds were recorded, want 30", n)
	}
	if n := strings.Count(r.out.String(), "done"); n != 2 {
		t.Errorf("%d processes came to their end\n%s", n, r.out.String())
	}
}

// Without -o the file is named for the program and its process.
func TestRecordNamesTheFile(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.cmd.Args = []string{r.cmd.Args[0], "record", Build(t, "recorded"), "1"}
	r.start()
	r.wantExit(0)
	r.file = filepath.Join(filepath.Dir(r.file), fmt.Sprintf("recorded.%d.hdb", r.programPID()))
	r.open(true)
	r.wantSaid(filepath.Base(r.file) + ": ")
}

// Nothing is done to a program when there is no file to record to.
func TestRecordToNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		"/nodir/x":                   "/nodir/x: cannot be made: /nodir: no such file or directory",
		dir:                          dir + ": is a directory",
		filepath.Join(taken, "x"):    taken + "/x: cannot be made: " + taken + " is not a directory",
		taken:                        taken + ": exists already: --force replaces it",
		"/proc/no process makes one": "/proc/no process makes one: cannot be made: no such file or directory",
	} {
		r := newRecording(t)
		r.cmd.Args = []string{r.cmd.Args[0], "record", "-o", path, Build(t, "recorded"), "1"}
		r.start()
		r.wantExit(4)
		if got := r.out.String(); got != "error: "+why+"\n" {
			t.Errorf("-o %s: %q", path, got)
		}
	}
}

// What a filter leaves out is told apart from what is recorded.
func TestRecordFiltered(t *testing.T) {
	t.Parallel()
	r := newRecording(t, "--filter", "size == 1000", Build(t, "recorded"), "20").start()
	r.wantExit(0)
	r.wantSaid("hdb: "+r.file+": 20 of ", "live at the end 19.5 KiB (20000) in 20 recorded blocks, 23.5 KiB (24096) in all 21,")
	out, err := exec.Command(HDB(t), "-batch", "-nx", "-ex", "live 1", "-ex", "top", "-ex", "record status", "open", r.file).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n20 of ", " recorded, over ", "live: 19.5 KiB (20000) in 20 recorded blocks\nbased on recorded events only: the capture has 20 of ",
		"19.5 KiB      20  keep ", "the capture has 20 events with ", "live: 19.5 KiB (20000) in 20 recorded blocks, peak of those 19.5 KiB (20000)",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// A program whose recording cannot be kept does not begin.
func TestRecordToAFullDisk(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.cmd.Args = []string{r.cmd.Args[0], "record", "-o", "/dev/full", Build(t, "recorded"), "1500"}
	r.start()
	r.wantExit(1)
	r.wantSaid("no space left on device")
	if strings.Contains(r.out.String(), "ready") {
		t.Error("the program ran")
	}
}

// A file to which nothing could be written does not stay.
func TestRecordToADiskWithoutRoom(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	mount := "mount -t tmpfs -o size=4k none " + r.cmd.Dir + " || exit 99; dd if=/dev/zero of=" + r.cmd.Dir + "/full bs=4k count=1 2>&1; \"$@\"; echo it ended with $?; ls -A " + r.cmd.Dir
	r.cmd = exec.Command("unshare", "-m", "sh", "-c", mount, "sh", HDB(t), "record", "-o", r.file, Build(t, "recorded"), "1500")
	r.start()
	if code := r.wait(); code == 99 || strings.Contains(r.out.String(), "unshare failed") {
		t.Skipf("no mount namespace: %s", r.out.String())
	}
	r.wantSaid("no space left on device", "it ended with 1\nfull\n")
	if strings.Contains(r.out.String(), "r.hdb\n") {
		t.Errorf("an empty file is left:\n%s", r.out.String())
	}
}

// What could not be written is not said to be in the file.
func TestRecordUntilTheDiskIsFull(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	mount := "mount -t tmpfs -o size=8k none " + r.cmd.Dir + " || exit 99; exec \"$@\""
	r.cmd = exec.Command("unshare", "-m", "sh", "-c", mount, "sh", HDB(t), "record", "-o", r.file, Build(t, "recorded"), "1500")
	r.start()
	if code := r.wait(); code == 99 || strings.Contains(r.out.String(), "unshare failed") {
		t.Skipf("no mount namespace: %s", r.out.String())
	} else if code != 1 {
		t.Errorf("exit code %d", code)
	}
	r.wantSaid("no space left on device", "r.hdb: incomplete: ", " events can be read, ", " events recorded\n")
	if strings.Contains(r.out.String(), "with symbols") {
		t.Errorf("a summary of what is not there:\n%s", r.out.String())
	}
}

// An assertion about a run whose recording filled the disk is decided by what is in it:
// more blocks than are allowed have failed it, fewer leave it undecided.
func TestAssertUntilTheDiskIsFull(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]struct {
		code int
		said string
	}{
		"10": {3, "FAILED max-allocs: "}, // which are in the recording
		"1M": {6, "UNDECIDED max-allocs: "},
	} {
		r := newRecording(t)
		mount := "mount -t tmpfs -o size=8k none " + r.cmd.Dir + " || exit 99; exec \"$@\""
		r.cmd = exec.Command("unshare", "-m", "sh", "-c", mount, "sh", HDB(t), "assert", "--max-allocs", limit, "-o", r.file, "--", Build(t, "recorded"), "1500")
		r.start()
		if code := r.wait(); code == 99 || strings.Contains(r.out.String(), "unshare failed") {
			t.Skipf("no mount namespace: %s", r.out.String())
		} else if code != want.code {
			t.Errorf("at most %s blocks: exit code %d, want %d", limit, code, want.code)
		}
		r.wantSaid("no space left on device", want.said)
	}
}

// On a terminal a line tells how far the recording is, and Ctrl-C goes to the
// program.
func TestRecordOnATerminal(t *testing.T) {
	t.Parallel()
	r := newRecording(t, Build(t, "recorded"), "catch", "3500")
	r.cmd.SysProcAttr = nil
	tty, err := pty.StartWithSize(r.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	go func() {
		_, _ = io.Copy(&r.out, tty) // until hdb has ended
		r.done <- r.cmd.Wait()
	}()
	r.until("events/s")
	if _, err := tty.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	r.wantExit(0)
	r.wantSaid("interrupted", "done", "\r\x1b[K", "live at the end")
	if line := regexp.MustCompile(`\r[\d,]+ events/s, [\d,]+ events, [^,]* live, file [0-9.]+ [KM]?i?B\x1b\[K`).FindString(r.out.String()); line == "" {
		t.Errorf("no progress line in %q", r.out.String())
	}
	r.open(true)
}

// TestRecordingThatIsTakenAway removes, replaces and cuts a file while it is recorded.
func TestRecordingThatIsTakenAway(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(path string) error{
		"was removed":      os.Remove,
		"replaced":         func(path string) error { return os.Rename(path+".other", path) },
		"was truncated to": func(path string) error { return os.Truncate(path, 0) },
	} {
		r := newRecording(t, "cat")
		if err := os.WriteFile(r.file+".other", []byte("other"), 0o666); err != nil {
			t.Fatal(err)
		}
		in, err := r.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "here\n"); err != nil {
			t.Fatal(err)
		}
		r.start().until("here")
		for end := Deadline(t); ; time.Sleep(10 * time.Millisecond) { // what is cut must have been written
			if st, err := os.Stat(r.file); err != nil || time.Now().After(end) {
				t.Fatalf("nothing is written: %v", err)
			} else if st.Size() > 0 {
				break
			}
		}
		if err := take(r.file); err != nil {
			t.Fatal(err)
		}
		in.Close()
		r.wantExit(1)
		r.wantSaid("error: ", what, " lost")
	}
}

// TestTooLittleAllowed runs hdb with limits of address space and threads at which Go's runtime would die, or not
// even begin.
func TestTooLittleAllowed(t *testing.T) {
	hdb, err := os.Open(HDB(t)) // in a folder that another user may not enter
	if err != nil {
		t.Fatal(err)
	}
	defer hdb.Close()
	for _, c := range []struct{ limit, want string }{
		{"-v 100000", "error: address space: the limit is below 1 GiB, which hdb needs: ulimit -v unlimited\n"},
		{"-v 1000000", "error: address space: the limit is below 1 GiB"},
		{"-u 12", "error: threads: the limit is 12, user "},
	} {
		args := []string{"-c", "ulimit " + c.limit + `; exec /proc/self/fd/3 --version`}
		cmd := exec.Command("bash", args...)
		if os.Geteuid() == 0 && strings.HasPrefix(c.limit, "-u") { // which root is exempt from
			const unused = 987654
			cmd = exec.Command("setpriv", append([]string{"--reuid", fmt.Sprint(unused), "--clear-groups", "bash"}, args...)...)
		}
		cmd.ExtraFiles = []*os.File{hdb}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.HasPrefix(string(out), c.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("ulimit %s: exit code %d\n%s", c.limit, code, out)
		}
	}
}

// TestTooFewOpenFiles runs hdb with limits at which it missed events, or Go died.
func TestTooFewOpenFiles(t *testing.T) {
	for _, limit := range []int{5, 7, 12, 64} {
		cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" record -o "$1" true`, limit), HDB(t), filepath.Join(t.TempDir(), "r.hdb"))
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(out), fmt.Sprintf("error: open files: the limit is %d ", limit)) {
			t.Errorf("with %d: exit code %d\n%s", limit, code, out)
		}
	}
}
