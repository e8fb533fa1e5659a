package golang

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// forms are the flags that programs are built with: plain, stripped, and position independent.
func forms(toolchain string) [][]string {
	all := [][]string{nil, {"-ldflags=-s -w"}, {"-buildmode=pie"}}
	if testing.Short() && toolchain != "local" {
		return all[:2] // the third has the whole library compiled anew
	}
	return all
}

// TestStops stops at allocations of Go by type and goroutine, by the code in the process and by
// plain breakpoints, which both shall tell what is allocated, by whom, and who made the goroutine.
func TestStops(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			for _, flags := range forms(toolchain) {
				path := build(t, "stops", toolchain, flags...)
				t.Run(strings.Join(flags, " "), func(t *testing.T) {
					p := start(t, path)
					stops(open(t, "-p", fmt.Sprint(p.cmd.Process.Pid)))
					p.end(t)
				})
			}
		})
	}
}

var byGoroutine = regexp.MustCompile(`, goroutine ([0-9]+), created by main.launch`)

func stops(c *console) {
	const creator = "created by main.launch"
	// at continues to the next stop, and returns the goroutine that it is in.
	at := func(words ...string) string {
		c.t.Helper()
		text := c.want("continue", append(words, creator)...)
		m := byGoroutine.FindStringSubmatch(text)
		if m == nil {
			c.t.Fatalf("no goroutine in\n%s", text)
		}
		return m[1]
	}
	for _, plane := range []string{"auto", "off"} {
		c.ask("set probe " + plane)
		c.ask(`break alloc if type("main.left")`)
		left := at("main.left, ", "main.lefts")
		bt := strings.TrimSpace(c.want("bt", "main.worker", creator))
		if lines := strings.Split(bt, "\n"); !strings.Contains(lines[len(lines)-1], creator) {
			c.t.Errorf("the stack does not end where its goroutine was made:\n%s", bt)
		}
		c.ask("delete")
		c.ask(`break alloc if type("[]main.item") && size > 100 && size < 500`)
		item := at("[]main.item, ", "main.items")
		c.ask("delete")

		c.ask("break alloc if goroutine == " + left + " && size == 8")
		if g := at("main.left, ", "main.lefts"); g != left {
			c.t.Errorf("stopped in goroutine %s for goroutine == %s", g, left)
		}
		c.ask("delete")
		c.want("next-alloc if goroutine == "+item+" && !type(\"runtime.*\") && !(size < 32)", "[]main.item, goroutine "+item+", ")
		c.ask(`break alloc if type("main.right") && goroutine == ` + item)
		c.ask(`break alloc if type("main.left") && goroutine == ` + left + ` && func("main.rights")`)
		c.ask(`break alloc if type("main.ri*") && size == 808`)
		c.ask("ignore $bpnum 500")
		if g := at("main.right, ", "main.rights"); g == left || g == item {
			c.t.Errorf("a main.right is allocated by goroutine %s", g)
		}
		var never []string
		if plane == "auto" {
			never = []string{"type(), goroutine in the process", "type(), goroutine in the process; func() outside the process, once for each stack", "type(), size in the process"}
		}
		if text := c.want("info breakpoints", never...); strings.Count(text, "not hit; ") != 2 || !strings.Contains(text, "hit 501 times") {
			c.t.Errorf("a stop was hit whose condition never holds, or one was missed:\n%s", text)
		}
		c.ask("delete")
		c.ask("break main.texts if goroutine == " + left)
		c.ask("tbreak main.lefts if goroutine == " + left)
		c.want("continue", "main.lefts")
		c.ask("delete")
	}
	c.quit()
}

var runs = regexp.MustCompile(`(?m)^[* ] +([0-9]+) +running`)

// TestGoroutinesInTheProbe looks at the stacks of all goroutines that run at stops. Some wait in
// the probe's code to be stopped next: it is no part of their stacks, and hides none of them.
func TestGoroutinesInTheProbe(t *testing.T) {
	p := start(t, build(t, "stress", "local", "-ldflags=-s -w"))
	c := open(t, "-p", fmt.Sprint(p.cmd.Process.Pid))
	c.ask("break alloc if size > 1000 && size < 1100")
	for range 12 {
		c.want("continue", "breakpoint 1, hit ")
		for _, g := range runs.FindAllStringSubmatch(c.ask("goroutines"), -1) {
			bt := c.ask("goroutine " + g[1] + " bt")
			if strings.Contains(bt, "hdb") || strings.Contains(bt, "main.broad") && !strings.Contains(bt, "runtime.newobject") {
				t.Errorf("goroutine %s:\n%s", g[1], bt)
			}
		}
	}
	c.ask("delete")
	c.quit()
	p.end(t)
}
