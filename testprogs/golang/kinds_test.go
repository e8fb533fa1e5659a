package golang

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kind is a way to build the stress program, or to run it.
type kind struct {
	name      string
	toolchain string   // "" stands for that which builds hdb
	flags     []string // of go build
	build     []string // environment of go build
	env       []string // environment of the program
	profiled  bool     // it is built with a profile of an earlier run, by which functions of the runtime are inlined
	short     bool
}

// kinds are those that have the runtime, or code that the compiler makes, differ from the
// usual. A build with settings of its own compiles all of Go's library, so the short form has few.
var kinds = []kind{
	{name: "storm", env: []string{"STORM=1"}, short: true},
	{name: "storm-1.18", env: []string{"STORM=1"}, toolchain: "go1.18.10"},
	{name: "storm-1.27", env: []string{"STORM=1"}, toolchain: "go1.27.4"},
	{name: "GOGC=1", env: []string{"GOGC=1", "STORM=1"}, short: true},
	{name: "GOMEMLIMIT", env: []string{"GOMEMLIMIT=1MiB"}},
	{name: "asyncpreemptoff", env: []string{"GODEBUG=asyncpreemptoff=1"}},
	{name: "gcstoptheworld", env: []string{"GODEBUG=gcstoptheworld=2"}},
	{name: "gccheckmark", env: []string{"GODEBUG=gccheckmark=1", "STORM=1"}},
	{name: "clobberfree", env: []string{"GODEBUG=clobberfree=1", "STORM=1"}},
	{name: "one processor", env: []string{"GOMAXPROCS=1", "STORM=1"}, short: true},
	{name: "many processors", env: []string{"GOMAXPROCS=64", "STORM=1"}},
	{name: "race", flags: []string{"-race"}, env: []string{"STORM=1"}},
	{name: "asan", flags: []string{"-asan"}},
	{name: "cover", flags: []string{"-cover"}},
	{name: "not optimized", flags: []string{"-gcflags=all=-N -l"}},
	{name: "nothing inlined", flags: []string{"-gcflags=all=-l"}},
	{name: "checkptr", flags: []string{"-gcflags=all=-d=checkptr"}},
	{name: "external linker", flags: []string{"-ldflags=-linkmode=external"}},
	{name: "GOAMD64=v3", build: []string{"GOAMD64=v3"}},
	{name: "GOAMD64=v4", build: []string{"GOAMD64=v4"}},
	{name: "sizespecializedmalloc", build: []string{"GOEXPERIMENT=sizespecializedmalloc"}, toolchain: "go1.26.8"},
	{name: "nosizespecializedmalloc", build: []string{"GOEXPERIMENT=nosizespecializedmalloc"}, toolchain: "go1.27.4"},
	{name: "greenteagc", build: []string{"GOEXPERIMENT=greenteagc"}, toolchain: "go1.25.4"},
	{name: "nogreenteagc", build: []string{"GOEXPERIMENT=nogreenteagc"}},
	{name: "arenas", build: []string{"GOEXPERIMENT=arenas"}},
	{name: "runtimefreegc", build: []string{"GOEXPERIMENT=runtimefreegc"}, toolchain: "go1.27.4"},
	{name: "profile", profiled: true},
	{name: "profile-1.21", profiled: true, toolchain: "go1.21.13"},
	{name: "profile-1.23", profiled: true, toolchain: "go1.23.12"},
	{name: "profile-1.27", profiled: true, toolchain: "go1.27.4"},
	{name: "no DWARF", flags: []string{"-ldflags=-w"}},
	{name: "runtimesecret", build: []string{"GOEXPERIMENT=runtimesecret"}},
}

// TestKinds holds the events against the runtime's counts in all of these.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		if testing.Short() && !k.short {
			continue // the full form has it
		}
		t.Run(k.name, func(t *testing.T) {
			if k.toolchain == "" {
				k.toolchain = "local"
			}
			if k.profiled {
				k.flags = append(k.flags, "-pgo="+profileOf(t, build(t, "stress", k.toolchain)))
			}
			program := buildIn(t, k.build, "stress", k.toolchain, k.flags...)
			for _, e := range k.env {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			compare(t, program, "1000")
		})
	}
}

// profileOf is a profile of the CPU time that a program takes.
func profileOf(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "default.pgo")
	cmd := exec.Command(program, "1000")
	cmd.Env = append(os.Environ(), "STORM=1", "PROFILE="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
