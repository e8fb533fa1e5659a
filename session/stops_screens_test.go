package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hdb/inferior"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/testprogs"
)

// screenedFunctions are those of screened.c with what conditions there may be about.
var screenedFunctions = []struct {
	name  string
	about []string
}{
	{"narrow", []string{"c", "u", "s", "w", "b"}},
	{"wide", []string{"i", "n", "l", "v", "e"}},
	{"follow", []string{"p", "depth", "p->first", "p->tag", "p->second", "p->next->first", "table[2].first"}},
	{"many", []string{"a", "c", "f", "on_stack", "last", "local.first"}},
	{"loops", []string{"n", "$rdi", "state"}},
	{"chooses", []string{"kind", "generation"}},
	{"jumps", []string{"n", "state", "generation", "alarms", "total"}},
	{"on_alarm", []string{"sig", "alarms"}},
}

// screenedCondition is a random one.
func screenedCondition(r *rand.Rand, about []string) string {
	constants := []string{"0", "1", "-1", "3", "5", "17", "'a'", "50u", "200", "255", "-128", "BLUE", "GREEN", "0x80000000", "-5000000000", "10ul", "100000"}
	term := func() string {
		name, c := about[r.IntN(len(about))], constants[r.IntN(len(constants))]
		switch r.IntN(8) {
		case 0:
			return name
		case 1:
			return "!" + name
		case 2:
			return c + " > " + name
		}
		return fmt.Sprintf("%s %s %s", name, []string{"==", "!=", "<", "<=", ">", ">="}[r.IntN(6)], c)
	}
	text := term()
	for range r.IntN(3) {
		text = "(" + text + []string{") && ", ") || "}[r.IntN(2)] + term()
	}
	if r.IntN(6) == 0 {
		text = "(" + text + ") && thread == 1"
	}
	return text
}

// TestScreensAgree sets breakpoints with random conditions, which are asked inside the process
// and outside of it, and compares how often they are hit.
func TestScreensAgree(t *testing.T) {
	for n, flags := range [][]string{{"-O2", "-pthread"}, {"-O0", "-pthread"}, {"-O1", "-pthread", "-fcf-protection"}, {"-O2", "-pthread", "-fno-pie", "-no-pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, uint64(n)))
			screens, hits := [2]int{}, uint64(0)
			for round := range testprogs.Rounds(1, 8) {
				s := open(t, "screened", flags...)
				s.Settings.Args = fmt.Sprintf("40 %d > /dev/null", round%3)
				for _, fn := range screenedFunctions {
					text := fn.name + " if " + screenedCondition(r, fn.about)
					st, err := s.Stops.Break(text, false)
					if err != nil {
						t.Fatalf("break %s: %v", text, err)
					}
					st.Ignore = 1 << 40
				}
				end, err := s.Stops.Break("exit", false)
				if err != nil {
					t.Fatal(err)
				}
				var all [2][]uint64
				for i, mode := range []target.ProbeMode{target.ProbeOff, target.ProbeAuto} {
					s.Settings.Probe = mode
					for _, st := range s.Stops.All() {
						if st.Hits = 0; st != end {
							st.Ignore = 1 << 40
						}
					}
					report := must(t)(s.Run(nil))
					for report.Reason == inferior.Signaled {
						report = must(t)(s.Execution.Continue(1))
					}
					if !slices.Contains(report.Hits, end) {
						t.Fatalf("%v: %s", mode, report.Headline())
					}
					for _, b := range s.Stops.binds {
						for _, x := range b.screened {
							if x.made {
								screens[i]++
							}
						}
					}
					report = must(t)(s.Execution.Continue(1))
					if report.Reason != inferior.Exited || report.Exit() != (inferior.ExitStatus{}) {
						t.Fatalf("%v: %s", mode, report.Headline())
					}
					for _, st := range s.Stops.All() {
						all[i] = append(all[i], st.Hits)
					}
				}
				for i, st := range s.Stops.All() {
					hits += all[0][i]
					if all[0][i] != all[1][i] {
						t.Errorf("%s if %s: %d hits, %d with the condition asked in the process", st.Location, st.Cond, all[0][i], all[1][i])
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d screens, %d hits", screens, hits)
			if screens[0] != 0 || screens[1] < testprogs.Rounds(1, 16) || hits < 100 {
				t.Errorf("%d screens, %d hits", screens, hits)
			}
		})
	}
}

// TestStepsFromScreens stops at conditions that are asked inside the process and outside of it, and
// compares where single steps and lines lead from there.
func TestStepsFromScreens(t *testing.T) {
	var screens [2]int
	for _, flags := range [][]string{{"-O2", "-pthread"}, {"-O0", "-pthread"}} {
		for _, cond := range []string{"narrow if c >= 7 && w > 100", "wide if l < 0 && n != 0", "follow if depth >= 3", "many if on_stack >= 12 || last == 1", "loops if n >= 2", "chooses if kind > 11"} {
			t.Run(flags[0]+" "+cond, func(t *testing.T) {
				var ways [2][]string
				for i, mode := range []target.ProbeMode{target.ProbeOff, target.ProbeAuto} {
					s := open(t, "screened", flags...)
					s.Settings.Args, s.Settings.Probe = "40 > /dev/null", mode
					st, err := s.Stops.Break(cond, false)
					if err != nil {
						t.Fatal(err)
					}
					note := func(r *stopped.Report, err error) {
						t.Helper()
						if err != nil {
							t.Fatal(err)
						}
						regs, err := s.target.Proc.StoppedThread().Regs()
						if err != nil {
							t.Fatal(err)
						}
						ways[i] = append(ways[i], fmt.Sprintf("%v: %v, sp %v, %s", r.Reason, regs.PC(), regs.SP(), path(r.Frames)))
					}
					report, err := s.Run(nil)
					for err == nil && report.Reason == inferior.Signaled {
						report, err = s.Execution.Continue(1)
					}
					note(report, err)
					for _, x := range s.Stops.binds[st.ID].screened {
						if x.made {
							screens[i]++
						}
					}
					for range 9 {
						note(s.Stepping.StepInstruction(1))
					}
					note(s.Execution.Continue(1))
					for range 3 {
						note(s.Stepping.Next(1))
					}
					note(s.Execution.Continue(1))
					note(s.Stepping.Finish())
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(ways[0], ways[1]) {
					t.Errorf("by traps\n%s\nby screens\n%s", strings.Join(ways[0], "\n"), strings.Join(ways[1], "\n"))
				}
			})
		}
	}
	if screens[0] != 0 || screens[1] < 9 {
		t.Errorf("%d screens by plain breakpoints, %d else, of 12", screens[0], screens[1])
	}
}
