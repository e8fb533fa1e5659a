package oracle

import (
	"fmt"
	"regexp"
	"testing"

	"hdb/testprogs"
)

// TestInfoLine compares the code that gdb and hdb say functions and lines begin with.
func TestInfoLine(t *testing.T) {
	for _, p := range []struct {
		build  []string
		source string
		asked  []string
	}{
		{[]string{"gcc", "-O0"}, "queue.c", []string{"fill", "run", "make", "main", "queue.c:64", "queue.c:66", "queue.c:70", "queue.c:67", "queue.c:80", "queue.c:81", "queue.c:90"}},
		{[]string{"g++", "-O0"}, "../../testdata/inlinestep.cc", []string{"work", "Server::session", "Server::totals", "Session::add", "main", "inlinestep.cc:49", "inlinestep.cc:50", "inlinestep.cc:70", "inlinestep.cc:71", "inlinestep.cc:98", "inlinestep.cc:100"}},
		{[]string{"gcc", "-O2"}, "queue.c", []string{"run", "make", "main"}},
	} {
		c := compiled(t, p.build, p.source)
		var ask []string
		for _, a := range p.asked {
			ask = append(ask, "-ex", "info line "+a)
		}
		at := regexp.MustCompile(`(?m)^Line (\d+) of .* starts at address (0x[0-9a-f]+)(?: <.*>)? and ends at (0x[0-9a-f]+)`)
		want := at.FindAllStringSubmatch(say(t, testprogs.Tool(t, "gdb"), append(append([]string{"-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0"}, ask...), c.Path), c, c.Env), -1)
		at = regexp.MustCompile(`(?m)^\S+:(\d+) is (0x[0-9a-f]+) up to (0x[0-9a-f]+) in`)
		got := at.FindAllStringSubmatch(say(t, testprogs.HDB(t), append(append([]string{"-nx", "-batch"}, ask...), c.Path), c, c.Env), -1)
		if len(want) != len(p.asked) || len(got) != len(p.asked) {
			t.Fatalf("%v %s: gdb has %d lines, hdb %d of %d", p.build, p.source, len(want), len(got), len(p.asked))
		}
		for i, a := range p.asked {
			if g, h := fmt.Sprint(want[i][1:]), fmt.Sprint(got[i][1:]); g != h {
				t.Errorf("%v %s: info line %s: gdb has %s, hdb %s", p.build, p.source, a, g, h)
			}
		}
	}
}
