package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/session/stopped"
	"hdb/testprogs"
	"hdb/values"
)

// signalSteps are conversations about stepsignals: what is typed after signals have been told
// to stop or not.
var signalSteps = []struct {
	name   string
	handle string // signals that do not stop the program
	killed bool   // the last signal has no handler
	typed  string
}{
	{"next", "SIGUSR2 SIGCHLD", false, "run next next next next next"},
	{"step", "SIGUSR2 SIGCHLD", false, "run step step step step step"},
	{"stepi", "SIGUSR2 SIGCHLD", false, "run stepi stepi nexti next next next next"},
	{"nexti", "SIGUSR2 SIGCHLD", false, "run nexti next next next next"},
	{"until", "SIGUSR2 SIGCHLD", false, "run until next next next"},
	{"finish the handler", "SIGUSR2 SIGCHLD", false, "run next finish next next"},
	{"no lines", "SIGUSR1 SIGCHLD", false, "run stepi finish next next"},
	{"no stop", "SIGUSR1 SIGUSR2 SIGCHLD", false, "break:main run next next next next next next next next next next"},
	{"ignored", "SIGUSR1 SIGUSR2", false, "run next next next"},
	{"ignored, by instruction", "SIGUSR1 SIGUSR2", false, "run stepi stepi next next"},
	{"jump", "SIGUSR1 SIGUSR2 SIGCHLD", false, "run next next next"},
	{"signal 0", "SIGUSR2 SIGCHLD", false, "run signal"},
	{"killed by next", "SIGUSR1 SIGUSR2 SIGCHLD", true, "run continue next"},
	{"killed by step", "SIGUSR1 SIGUSR2 SIGCHLD", true, "run continue step"},
	{"killed by stepi", "SIGUSR1 SIGUSR2 SIGCHLD", true, "run continue stepi"},
	{"killed by nexti", "SIGUSR1 SIGUSR2 SIGCHLD", true, "run continue nexti"},
	{"killed by until", "SIGUSR1 SIGUSR2 SIGCHLD", true, "run continue until"},
}

// TestStepsWithSignals: a step that begins with a signal delivers it, and ends where gdb's does.
func TestStepsWithSignals(t *testing.T) {
	inShort := []string{"next", "stepi", "until", "finish the handler", "no lines", "ignored", "signal 0", "killed by nexti"} // one of each class
	for _, c := range signalSteps {
		if testing.Short() && !slices.Contains(inShort, c.name) {
			continue // each takes a start of gdb
		}
		t.Run(c.name, func(t *testing.T) {
			want := gdbSteps(t, c.handle, c.killed, strings.Fields(c.typed))
			s := open(t, "stepsignals")
			if c.killed {
				s.Settings.Args = "1 > /dev/null"
			}
			for _, name := range []string{"SIGUSR1", "SIGUSR2", "SIGCHLD"} {
				policy := inferior.Policy{Stop: true, Print: true, Pass: true}
				if strings.Contains(c.handle, name) {
					policy.Stop, policy.Print = false, false
				}
				if err := s.Catches.HandleSignal(name, policy); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, verb := range strings.Fields(c.typed) {
				if at, ok := strings.CutPrefix(verb, "break:"); ok {
					setBreak(t, s, at)
					continue
				}
				r := must(t)(typed(s, verb))
				if r.Reason == inferior.Exited {
					got = append(got, r.Exit().String())
					break
				}
				got = append(got, fmt.Sprintf("%s:%d", r.Frames[0].Function, r.Frames[0].Line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n got %s\n gdb %s", c.typed, got, want)
			}
		})
	}
}

// typed runs a verb of the table.
func typed(s *Session, verb string) (*stopped.Report, error) {
	switch verb {
	case "run":
		return s.Run(nil)
	case "next":
		return s.Stepping.Next(1)
	case "step":
		return s.Stepping.Step(1)
	case "stepi":
		return s.Stepping.StepInstruction(1)
	case "nexti":
		return s.Stepping.NextInstruction(1)
	case "until":
		return s.Stepping.Until("")
	case "finish":
		return s.Stepping.Finish()
	case "signal":
		return s.Stepping.Signal("0")
	}
	return s.Execution.Continue(1)
}

// gdbSteps are function and line of the innermost frame, and how the process ends, as gdb has
// them after each verb.
func gdbSteps(t *testing.T, nostop string, killed bool, verbs []string) []string {
	t.Helper()
	args := []string{"-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set confirm off",
		"-ex", "handle SIGCHLD stop print", "-ex", "handle " + nostop + " nostop noprint"}
	for _, v := range verbs {
		switch {
		case strings.HasPrefix(v, "break:"):
			args = append(args, "-ex", strings.Replace(v, ":", " ", 1))
			continue
		case v == "signal":
			v = "signal 0"
		}
		args = append(args, "-ex", v, "-ex", `printf "\n=="`, "-ex", "frame")
	}
	args = append(args, "-ex", "echo", "--args", testprogs.Build(t, "stepsignals"))
	if killed {
		args = append(args, "1")
	}
	out := run(t, "gdb", args...)
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^==#0 +(?:0x[0-9a-f]+ in )?(\w+|<signal handler called>) ?(?:\(.*\))?(?: at \S+:(\d+))?|terminated with signal (\w+)`).FindAllStringSubmatch(out, -1) {
		switch line := m[2]; {
		case m[3] != "":
			return append(all, "killed by "+m[3])
		case m[1] == "<signal handler called>":
			all = append(all, "__restore_rt:0")
		case line == "":
			all = append(all, m[1]+":0")
		default:
			all = append(all, m[1]+":"+line)
		}
	}
	if len(all) < 2 {
		t.Fatalf("gdb says\n%s", out)
	}
	return all
}

// A handler without lines is passed over by steps of lines, not of instructions.
func TestStepOverBareHandler(t *testing.T) {
	for _, verb := range []string{"next", "step", "until"} {
		s := open(t, "stepsignals")
		if err := s.Catches.HandleSignal("SIGUSR1", inferior.Policy{Pass: true}); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Run(nil))
		must(t)(typed(s, verb))
		wantLine(t, s, "main", 45)
		if _, v, err := s.Values.Print("plain", values.Options{}); err != nil || v != "1" {
			t.Errorf("%s: the handler has counted %q, %v; want 1", verb, v, err)
		}
	}
}

// A signal that is not passed to the program is not delivered by a step either.
func TestStepWithoutSignal(t *testing.T) {
	s := open(t, "stepsignals")
	if err := s.Catches.HandleSignal("SIGUSR1", inferior.Policy{Stop: true, Print: true}); err != nil {
		t.Fatal(err)
	}
	must(t)(s.Run(nil))
	must(t)(s.Stepping.Next(1))
	wantLine(t, s, "main", 43)
}

// A step over the end of the process tells it.
func TestStepOverExit(t *testing.T) {
	for _, verb := range []string{"next", "step", "stepi", "nexti", "until"} {
		s := open(t, "stepsignals")
		for _, name := range []string{"SIGUSR1", "SIGUSR2", "SIGSEGV"} {
			if err := s.Catches.HandleSignal(name, inferior.Policy{Pass: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Catches.SystemCalls([]string{"exit_group"}, ""); err != nil {
			t.Fatal(err)
		}
		must(t)(s.Run(nil))
		if r := must(t)(typed(s, verb)); r.Reason != inferior.Exited || r.Exit().Code != 0 {
			t.Errorf("%s over exit_group: %s", verb, r.Headline())
		}
	}
}
