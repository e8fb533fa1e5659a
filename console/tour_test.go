package console

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/console/line"
	"hdb/testprogs"
)

// A visit is a line that was typed on a tour, and what it printed.
type visit struct {
	tour, line, out, err string
}

// A tourist types the lines of a tour, and collects what each prints.
type tourist struct {
	typist
	out, err bytes.Buffer
	tour     string
	visits   []visit
}

func (t *tourist) ReadLine(prompt string) (string, error) {
	if n := len(t.visits); n > 0 {
		t.visits[n-1].out += t.out.String()
		t.visits[n-1].err += t.err.String()
	}
	t.out.Reset()
	t.err.Reset()
	text, err := t.typist.ReadLine(prompt)
	if err == nil {
		t.visits = append(t.visits, visit{tour: t.tour, line: text})
	}
	return text, err
}

var _ line.Reader = (*tourist)(nil)

// takeTours types every command of the console that prints, on one program: as a process, as
// the capture that is saved of it, and by its core file. Those about Go are typed on a program in Go. The lines are those of
// testdata/tour; first stands before those of each.
func takeTours(t *testing.T, change func(*Config), first ...string) []visit {
	t.Helper()
	program, dir := testprogs.Build(t, "wide"), t.TempDir()
	script := filepath.Join(dir, "script.hdb")
	if err := os.WriteFile(script, []byte("echo a script\\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(here) // the tours have cd
	paths := strings.NewReplacer("{program}", program, "{goroutines}", testprogs.Build(t, "goroutines"), "{core}", filepath.Join(dir, "core"), "{saved}", filepath.Join(dir, "saved.hdb"), "{script}", script, "{dir}", dir)
	var all []visit
	for _, name := range []string{"live", "saved", "core", "go"} {
		text, err := os.ReadFile(filepath.Join(here, "testdata", "tour", name))
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Concat(first, strings.Split(strings.TrimSpace(paths.Replace(string(text))), "\n"))
		in := &tourist{typist: typist{lines: lines}, tour: name}
		st := newStage(t, func(cfg *Config) {
			cfg.In, cfg.Out, cfg.Err = in, &in.out, &in.err
			if change != nil {
				change(cfg)
			}
		})
		st.Run()
		all = append(all, in.visits...)
	}
	return all
}
