package session

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/panics"
	"hdb/session/stopped"
	"hdb/testprogs"
)

// faultyFile panics at its tenth write.
type faultyFile struct {
	*os.File
	writes int
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if f.writes++; f.writes == 10 {
		panic("the file is at fault")
	}
	return f.File.Write(b)
}

// A panic of hdb's own ends a recording, wherever it is: the file is whole and says so, and
// the process goes on.
func TestPanicEndsARecording(t *testing.T) {
	var file *faultyFile
	for name, inject := range map[string]func(*Session){
		"in a breakpoint's handler": func(s *Session) {
			s.target.Exclusive(func() { s.Planes.fallBack(errors.New("the test wants it")) })
			if err := s.target.Proc.StopAll(s.Planes.arm); err != nil {
				panic("plain breakpoints are not armed")
			}
			s.demand.next = &nextEvent{left: 1, want: func(capture.Kind) bool { panic("a stop is at fault") }}
		},
		"in the ring's goroutine": func(s *Session) {
			s.target.Exclusive(s.account.Rec.ForgetProbe) // which goes on speaking of stacks
		},
		"in the queue": func(*Session) { file.writes = 9 },
		"in the owner": func(*Session) { panic("the owner is at fault") },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "in a breakpoint's handler" || name == "in the owner" {
				testprogs.SkipUnderRace(t) // no other goroutine has a part in it
			}
			s := open(t, "storm_namespaces")
			s.Settings.Args = "1000000 3 50 > /dev/null"
			path := filepath.Join(t.TempDir(), "failed.hdb")
			s.Recorder.StreamTo(Stream{Open: func(capture.Info) (io.WriteCloser, error) {
				f, err := os.Create(path)
				file = &faultyFile{f, -1000}
				return file, err
			}})
			recordFromMain(t, s)
			pid, _, _, _ := s.Process()
			go func() {
				for end := testprogs.Deadline(t); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if recorded, _ := s.Recorded.Counts(); recorded > 1000 {
						break
					}
				}
				s.target.Proc.Wake(func() {
					s.target.Exclusive(func() { _ = s.Recorder.stream.file.Flush() })
					inject(s)
				})
			}()
			var r *stopped.Report
			var err error
			owner := panics.Catch(func() { r, err = s.Execution.Continue(1) })
			if owner != nil {
				s.Recorder.Fail(owner)
			} else if err != nil || r.Reason != inferior.Interrupted || s.Recorder.Err() == nil {
				t.Fatalf("%+v, %v, and writing %v", r, err, s.Recorder.Err())
			}
			_, err = s.Recorder.EndStream()
			var failed *panics.Error
			if !errors.As(err, &failed) || len(failed.Stack) == 0 {
				t.Errorf("the recording ends with %v", err)
			}
			f := checkCapture(t, path)
			if !f.Info().Partial.Has(capture.Failed) {
				t.Errorf("the capture is not whole because of %+v", f.Info().Partial)
			}
			if f.Len() == 0 || f.Info().Totals.Events != uint64(f.Len()) {
				t.Errorf("%d events, totals %+v", f.Len(), f.Info().Totals)
			}
			if err := s.Rescue(); err != nil {
				t.Error(err)
			}
			defer syscall.Kill(pid, syscall.SIGKILL)
			goesOn(t, pid)
		})
	}
}

// goesOn fails unless a process runs, untraced, and uses its processor.
func goesOn(t *testing.T, pid int) {
	t.Helper()
	was := ""
	for end := testprogs.Deadline(t); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		fields := strings.Fields(string(stat))
		if len(fields) < 15 || !strings.Contains(string(status), "TracerPid:\t0\n") {
			continue
		}
		if now := fields[13]; was == "" {
			was = now
		} else if now != was {
			return
		}
	}
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	t.Errorf("process %d does not go on\n%s", pid, status)
}
