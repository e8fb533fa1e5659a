package golang

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/testprogs"
)

var collected = regexp.MustCompile(`collected (?:([0-9,]+) objects? \(.*?\) )?in .*; live: ([0-9,]+) objects? `)

// TestCollect has a program that stands at a breakpoint collect what nothing needs: exactly that is gone,
// the program stands where it stood, and goes on.
func TestCollect(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for _, flags := range forms(toolchain) {
				p := start(t, build(t, "garbage", toolchain, flags...))
				c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
				c.ask("break main.mark")
				c.ask("continue")
				c.ask("finish") // the first instructions of a function are no safe points to all versions
				before := c.want("bt", "main.main")
				numbers := func() (fewer, live int) {
					c.t.Helper()
					text := c.ask("gc")
					m := collected.FindStringSubmatch(text)
					if m == nil || strings.Contains(text, "ran meanwhile") {
						c.t.Fatalf("%v: gc said %s", flags, text)
					}
					number := func(s string) int { n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")); return n }
					return number(m[1]), number(m[2])
				}
				if fewer, live := numbers(); fewer < 9_900 || live < 1000 || live > 15_000 {
					t.Errorf("%v: %d objects fewer, %d live, want about 10,000 or more, and at most the last list beside what is kept", flags, fewer, live)
				}
				if fewer, _ := numbers(); fewer > 100 {
					t.Errorf("%v: the second collection found %d objects", flags, fewer)
				}
				if after := c.ask("bt"); after != before {
					t.Errorf("%v: the thread has moved from\n%sto\n%s", flags, before, after)
				}
				c.ask("delete")
				c.ask(`break alloc if type("main.node")`)
				c.want("continue", "main.litter")
				c.want("gc", "error: gc: ", "`frame 0` and `finish` leave it")
				c.ask("delete")
				c.want("finish", "run till exit of main.litter") // the selected one, not the innermost
				if stack := c.want("bt", "main.main"); strings.Contains(stack, "main.litter") {
					t.Errorf("%v: finish has not left main.litter:\n%s", flags, stack)
				}
				c.quit()
				p.end(t)
				if !strings.HasSuffix(p.said.String(), "done 1000\n") {
					t.Errorf("%v: the program said %s", flags, &p.said)
				}
			}
		})
	}
}

// numbers are how many objects gc says that there are fewer, and how many live.
func (c *console) collect() (fewer, live int) {
	c.t.Helper()
	text := c.ask("gc")
	m := collected.FindStringSubmatch(text)
	if m == nil {
		c.t.Fatalf("gc said %s", text)
	}
	number := func(s string) int { n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")); return n }
	return number(m[1]), number(m[2])
}

// TestCollectIdle has programs collect garbage that wait, and run no code of theirs: with runtime.GC and
// without, stopped and in the background.
func TestCollectIdle(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			all := forms(toolchain)
			if !testing.Short() {
				all = append(all, []string{"-gcflags=all=-N -l"})
			}
			for _, flags := range all {
				for _, name := range []string{"garbage", "idle"} {
					path := build(t, name, toolchain, flags...)
					p := start(t, path, "IDLE=1")
					p.waits(t)
					c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
					if fewer, live := c.collect(); fewer < 9_900 || live < 1000 || live > 5_000 {
						t.Errorf("%s %v: %d objects fewer, %d live, want about 10,000 or more, and 1,000 or more", name, flags, fewer, live)
					}
					if fewer, _ := c.collect(); fewer > 100 {
						t.Errorf("%s %v: the second collection found %d objects", name, flags, fewer)
					}
					c.ask("continue &")
					if _, live := c.collect(); live < 1000 || live > 5_000 {
						t.Errorf("%s %v: %d objects live in the background", name, flags, live)
					}
					c.collect()
					if text := c.ask("info program"); !strings.Contains(text, "the program runs") {
						t.Errorf("%s %v: the program does not run on: %s", name, flags, text)
					}
					c.ask("interrupt")
					c.quit()
					p.end(t)
					if !strings.HasSuffix(p.said.String(), "done 1000\n") {
						t.Errorf("%s %v: the program said %s", name, flags, &p.said)
					}
				}
			}
		})
	}
}

// TestCollectKilled kills hdb while programs that wait are made to collect: they go on.
func TestCollectKilled(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			p := start(t, build(t, "idle", toolchain), "GODEBUG=clobberfree=1")
			p.waits(t)
			for i := range 10 {
				c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
				c.collect()
				io.WriteString(c.in, strings.Repeat("gc\n", 50))
				time.Sleep(time.Duration(3*i) * time.Millisecond)
				c.cmd.Process.Kill()
				c.cmd.Wait()
			}
			p.end(t)
			if !strings.HasSuffix(p.said.String(), "done 1000\n") {
				t.Errorf("the program said %s", &p.said)
			}
		})
	}
}

// TestCollectNever has a program that waits, and whose runtime never collects by itself: gc says so, and
// leaves what it asked for as it was.
func TestCollectNever(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			p := start(t, build(t, "idle", toolchain), "GOGC=off")
			p.waits(t)
			c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
			c.ask("info program")
			before := c.want("print runtime.memstats.last_gc_nanotime", "0\n")
			c.want("gc", "error: gc: ", "GOGC=off", "no runtime.GC")
			if after := c.ask("print runtime.memstats.last_gc_nanotime"); after != before {
				t.Errorf("the time of the last collection was %s, is %s", before, after)
			}
			c.ask("continue &") // where Ctrl-C ends what is waited for, and not the run
			key := time.AfterFunc(time.Second, func() { c.cmd.Process.Signal(os.Interrupt) })
			c.want("gc", "error: gc: interrupted\n")
			key.Stop()
			c.want("info program", "the program runs")
			c.ask("interrupt")
			c.quit()
			p.end(t)
		})
	}
}

// TestCollectCutShort has a program stop or end while gc waits for a collection that it never makes: hdb says once
// what became of it, and goes on.
func TestCollectCutShort(t *testing.T) {
	for _, how := range []struct {
		name, set, said, want, then string
		signal                      os.Signal
	}{
		{"stops", "handle SIGUSR1 nopass", "SIGUSR1 sent", "stopped before the collection was done\n", "SIGUSR1", syscall.SIGUSR1},
		{"ends", "", "killed by SIGKILL", "the program has ended\n", "static executable", syscall.SIGKILL},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, build(t, "idle", "local"), "GOGC=off")
			p.waits(t)
			c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
			c.ask(how.set)
			before := c.want("print runtime.memstats.last_gc_nanotime", "0\n")
			asked := p.asked(t, c)
			c.ask("continue &")
			go func() { asked(); p.cmd.Process.Signal(how.signal) }()
			if _, text, _ := strings.Cut(c.want("gc", how.said, "error: gc: "), "error: gc: "); text != how.want {
				t.Errorf("gc: the error is %q, want %q", text, how.want)
			}
			c.want("info program", how.then)
			if how.signal == syscall.SIGKILL {
				c.quit()
				return
			}
			if after := c.ask("print runtime.memstats.last_gc_nanotime"); after != before {
				t.Errorf("the time of the last collection was %s, is %s", before, after)
			}
			c.quit()
			p.end(t)
		})
	}
}

// TestCollectStopped has a program come to a breakpoint in its own code while gc waits for a thread that can be made to
// collect: it stands there, and nothing is begun any more.
func TestCollectStopped(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				p := start(t, build(t, "garbage", toolchain), "IDLE=1", "GOGC=off")
				p.waits(t)
				c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
				c.ask("break main.sum")
				asked := p.asked(t, c)
				c.ask("continue &")
				go func() { asked(); p.in.Close() }()
				text := c.ask("gc")
				if strings.Contains(text, "collected ") { // by the thread that was on its way there
					c.cmd.Process.Kill()
					continue
				}
				if !strings.Contains(text, "breakpoint 1, hit 1") || !strings.Contains(text, "error: gc: stopped before the collection was done") {
					t.Errorf("gc: %s", text)
				}
				begun := strings.Contains(text, "the collection goes on with the program\n") // another thread was made to, before
				c.want("bt 1", "#0* main.sum")
				if n := strings.TrimSpace(c.ask("print runtime.memstats.numgc")); n != "0" && !begun {
					t.Errorf("there were %s collections", n)
				}
				c.want("next", "main.sum")
				c.ask("continue")
				c.quit()
				p.end(t)
				if !strings.HasSuffix(p.said.String(), "done 1000\n") {
					t.Errorf("the program said %s", &p.said)
				}
				return
			}
			t.Error("gc was done before the breakpoint each time")
		})
	}
}

// asked returns what waits until the runtime is made to collect by itself: its time of the last collection has been set
// back. hdb is stopped now.
func (p *program) asked(t *testing.T, c *console) func() {
	t.Helper()
	m := regexp.MustCompile(`0x[0-9a-f]+`).FindString(c.ask("print &runtime.memstats.last_gc_nanotime"))
	at, err := strconv.ParseInt(strings.TrimPrefix(m, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	word := func() (b [8]byte) {
		memory.ReadAt(b[:], at) // zeros once it has ended
		return b
	}
	before, end := word(), testprogs.Deadline(t)
	return func() {
		for word() == before && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
}

// TestCollectUnderLoad asks for collections of a program that allocates in several goroutines, and kills
// hdb in the middle of others: it goes on, and memory that is freed and used all the same would end
// it (clobberfree).
func TestCollectUnderLoad(t *testing.T) {
	rounds, kills := 15, 5
	if !testing.Short() {
		rounds, kills = 50, 30
	}
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			p := start(t, build(t, "stress", toolchain), "GODEBUG=clobberfree=1", "GOGC=20")
			c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
			for i := range rounds {
				c.want("gc", "collected ", "; live: ")
				if i%3 == 0 { // from another place
					c.ask("tbreak main.chain")
					c.want("continue", "main.chain")
					c.ask("finish") // the first instructions are no safe point before Go 1.20
				}
			}
			c.quit()
			for i := range kills {
				c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
				io.WriteString(c.in, strings.Repeat("gc\n", 20))
				time.Sleep(time.Duration(150+37*i%400) * time.Millisecond)
				c.cmd.Process.Kill()
				c.cmd.Wait()
			}
			p.end(t)
			if !strings.HasPrefix(p.said.String(), "allocs ") {
				t.Errorf("the program said %s", &p.said)
			}
		})
	}
}
