package unwind

import (
	"slices"
	"testing"

	"hdb/testprogs"
)

// TestRealPrograms stops installed programs in malloc again and again.
func TestRealPrograms(t *testing.T) {
	for _, c := range []struct {
		program, debianPackage string
		args                   string
		skip                   string // calls of malloc between stops
	}{
		{"/usr/bin/python3", "python3", `-c 'import json, re; print(len(json.dumps(list(range(1000)))))'`, "25"},
		{"/usr/bin/sqlite3", "sqlite3", `:memory: 'create table t(a); insert into t values(1),(2); select sum(a) from t order by 1;'`, "8"},
		{"/usr/bin/perl", "perl", `-e 'my %h; $h{$_} = "x" x $_ for 1..200; print scalar(keys %h);'`, "20"},
	} {
		t.Run(c.debianPackage, func(t *testing.T) {
			t.Parallel()
			needTool(t, c.program, c.debianPackage)
			commands := []string{"set args " + c.args, "set breakpoint pending on", "break __libc_start_main", "run", "delete", "break *__libc_malloc"}
			stops := testprogs.Rounds(25, 40)
			for range stops {
				commands = append(commands, "ignore 2 "+c.skip, "continue", "snap")
			}
			s := takeSnapshot(t, c.program, commands...)
			w := NewWalker(s)
			deepest := 0
			for i := range s.Stops {
				stop := &s.Stops[i]
				got := w.Walk(s.memory(t, stop), stop.regs(), 0)
				if diff := diffStack(&got, stop, &walkCase{}); diff != "" {
					t.Errorf("stop %d: %s\n%s", i, diff, describe(&got, stop))
				}
				deepest = max(deepest, len(got.Frames))
				if n := slices.IndexFunc(got.Frames, func(f Frame) bool { return f.How.Guess() }); n >= 0 {
					t.Errorf("stop %d: frame %d is a guess", i, n)
				}
			}
			if len(s.Stops) < stops || deepest < 12 {
				t.Errorf("%d stops, deepest stack %d frames", len(s.Stops), deepest)
			}
		})
	}
}
