package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/inferior/machine"
	"hdb/testprogs"
)

// TestDoctor asks about programs with and without debug information; the exit code is
// a promise to scripts.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "own.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	make := func(name string, flags ...string) {
		args := append(flags, "-static", "-o", filepath.Join(dir, name), source)
		if out, err := exec.Command(testprogs.Tool(t, "gcc"), args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
	}
	make("good", "-g")
	make("bad", "-s")
	for _, c := range []struct {
		args string
		code int
		want string // in the output
	}{
		{"good", 0, "nothing is missing"},
		{"bad", 3, "compile it with -g"},
		{"--debug-file-directory=/nowhere bad", 3, "/nowhere/.build-id/"},
		{"--help", 0, "usage: hdb doctor"},
		{"--sysroot=/ ", 2, ""}, {"--bogus good", 2, ""}, {"good bad", 2, ""}, {"--sysroot", 2, ""},
		{"none", 4, ""}, {"own.c", 4, ""}, {"1073741824", 4, ""}, {"none.hdb", 4, ""},
	} {
		var out, errw bytes.Buffer
		args := strings.Fields(c.args)
		for i, a := range args {
			if !strings.HasPrefix(a, "-") && a[0] > '9' {
				args[i] = filepath.Join(dir, a)
			}
		}
		if code := run(append([]string{"doctor"}, args...), os.Stdin, &out, &errw); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("hdb doctor %s: exit %d, want %d; %s%s", c.args, code, c.code, &out, &errw)
		}
	}

	t.Run("machine", doctorOfMachines(filepath.Join(dir, "good")))

	var out, errw bytes.Buffer
	run([]string{"--json", "doctor", filepath.Join(dir, "bad")}, os.Stdin, &out, &errw)
	var got struct {
		V       int
		Command string
		Good    bool
		Modules []struct {
			Module, Found string
			Good          bool
			Remedies      []string
			Looked        []struct{ Path, Why string } `json:"looked_at"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if got.V != 1 || got.Command != "doctor" || got.Good || len(got.Modules) != 1 || got.Modules[0].Found != "nothing" || len(got.Modules[0].Looked) != 1 || got.Modules[0].Looked[0].Why != "no such file" {
		t.Errorf("%s", &out)
	}
}

// doctorOfMachines asks about the machine, as it is and with something masked; beside a program only
// what is absent is told, and does not change the exit code.
func doctorOfMachines(program string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Setenv(machine.Variable, "")
		lacking := 0
		if slices.ContainsFunc(machine.All(), func(f machine.Finding) bool { return f.Missing() }) {
			lacking = 3
		}
		for _, c := range []struct {
			without, args string
			code          int
			want, not     string // in the output
		}{
			{"", "doctor", lacking, "debug registers", "nothing is missing"},
			{"", "doctor --json", lacking, `"machine":[{"ability":"fsgsbase",`, "modules"},
			{"tsc", "doctor", 3, "without time stamp counter: the probe asks", ""},
			{"tsc", "doctor " + program, 0, "without time stamp counter: the probe asks", "counters of perf"},
			{"tsc", "doctor --machine " + program, 0, "counters of perf", ""},
			{"perf", "doctor " + program, 0, "nothing is missing", "counters of perf"},
			{"tsc", "doctor --json " + program, 0, `"ability":"tsc","name":"time stamp counter","state":"masked","needed":true,`, ""},
			{"tcs", "doctor", 2, `HDB_WITHOUT: "tcs" is not a feature of the machine: one of fsgsbase,`, "found by"},
			{"tcs", "--version", 2, `HDB_WITHOUT: "tcs" is not a feature of the machine: one of fsgsbase,`, ""},
		} {
			t.Run(c.without+" "+c.args, func(t *testing.T) {
				t.Setenv(machine.Variable, c.without)
				var out bytes.Buffer
				code := run(strings.Fields(c.args), os.Stdin, &out, &out)
				if code != c.code || !strings.Contains(out.String(), c.want) || c.not != "" && strings.Contains(out.String(), c.not) {
					t.Errorf("exit %d, want %d, %q and not %q:\n%s", code, c.code, c.want, c.not, &out)
				}
			})
		}
	}
}
