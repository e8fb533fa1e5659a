package golang

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"

	"github.com/google/pprof/profile"
)

// A site is what a profile has of a stack: blocks of slots, in their size, that were made and
// are live.
type site struct {
	allocs, bytes, live, liveBytes int64
	tiny                           bool // they may share slots with others
}

// TestSites compares the profile that hdb exports with the one that the program writes itself at
// MemProfileRate 1: function, line and inlined calls of each frame, blocks and slots. The program's
// lacks blocks that got room in the slot of another one, and what is allocated on the stack of
// the system's goroutine has no stack of the goroutine that it is made for.
func TestSites(t *testing.T) {
	for _, toolchain := range toolchains() {
		t.Run(toolchain, func(t *testing.T) {
			t.Parallel()
			program := build(t, "sites", toolchain)
			own := filepath.Join(t.TempDir(), "own.pb.gz")
			_, path := record(t, program, own)
			ours := filepath.Join(t.TempDir(), "ours.pb.gz")
			hdb(t, "export", "pprof", "-o", ours, path)
			want, got := sitesOf(t, own, "alloc_space"), sitesOf(t, ours, "inuse_space")
			for _, sys := range ofSystem(t, path) {
				s := got[sys.stack]
				if s.allocs -= sys.allocs; s.allocs == 0 {
					delete(got, sys.stack)
					continue
				}
				s.live -= sys.live
				s.bytes, s.liveBytes = want[sys.stack].bytes, want[sys.stack].liveBytes // of these only blocks are told
				got[sys.stack] = s
			}
			const grouped = "main.loadGoroutines;runtime.goexit;main.loadGoroutines.func1;"
			if !strings.Contains(hdb(t, "export", "collapsed", "--measure", "count", "-o", "-", path), grouped) {
				t.Errorf("the stacks of goroutines do not begin with their go statement")
			}
			if len(want) < 30 {
				t.Errorf("the program's profile has %d stacks", len(want))
			}
			same := 0
			for stack, g := range got {
				w := want[stack]
				switch {
				case g == w:
					same++
				case g.tiny && w.allocs <= g.allocs && w.live <= g.allocs:
				default:
					t.Errorf("%s\n hdb has %+v, the program's profile %+v", stack, g, w)
				}
			}
			for stack, w := range want {
				if _, ok := got[stack]; !ok {
					t.Errorf("%s\n hdb lacks it, the program's profile has %+v", stack, w)
				}
			}
			if same < len(want)*2/3 {
				t.Errorf("%d of %d stacks are the same", same, len(want))
			}
		})
	}
}

// hdb runs a command of the command line.
func hdb(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(testprogs.HDB(t), args...).Output()
	if err != nil {
		t.Fatalf("hdb %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// sitesOf reads a profile: the stacks of the program's work, which begins in functions named
// load.
func sitesOf(t *testing.T, path, shown string) map[string]site {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, s := range p.SampleType {
		types = append(types, s.Type+"/"+s.Unit)
	}
	if want := "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"; strings.Join(types, " ") != want || p.DefaultSampleType != shown || p.Period != 1 || *p.PeriodType != (profile.ValueType{Type: "space", Unit: "bytes"}) {
		t.Errorf("%s: %v, %s, %d %v", path, types, p.DefaultSampleType, p.Period, p.PeriodType)
	}
	sites := map[string]site{}
	for _, s := range p.Sample {
		stack := ""
		for _, l := range s.Location {
			for _, line := range l.Line {
				stack += fmt.Sprintf("%s:%d;", line.Function.Name, line.Line)
			}
		}
		if !strings.Contains(stack, "main.load") {
			continue
		}
		stack = plainName(stack)
		slot := s.NumLabel["bytes"]
		if len(slot) != 1 || len(s.NumUnit["bytes"]) != 0 && s.NumUnit["bytes"][0] != "" {
			t.Errorf("%s: slots of %v %v", stack, slot, s.NumUnit)
			continue
		}
		v := sites[stack]
		v.allocs += s.Value[0]
		v.bytes += s.Value[0] * slot[0]
		v.live += s.Value[2]
		v.liveBytes += s.Value[2] * slot[0]
		v.tiny = v.tiny || slot[0] <= 16
		sites[stack] = v
	}
	return sites
}

// plainName is a stack without the types of generic functions, which Go before 1.21 does not
// write, and without functions of the runtime's that are named as of other packages: before Go
// 1.26 the profile leaves out whatever calls mallocgc.
func plainName(stack string) string {
	var b strings.Builder
	depth := 0
	for _, r := range stack {
		if r == '[' {
			depth++
		}
		if depth == 0 {
			b.WriteRune(r)
		}
		if r == ']' {
			depth--
		}
	}
	first, rest, _ := strings.Cut(b.String(), ";")
	switch name, _, _ := strings.Cut(first, ":"); name {
	case "reflect.unsafe_New", "reflect.unsafe_NewArray", "internal/bytealg.MakeNoZero":
		return rest
	}
	return b.String()
}

// A systemSite is what is allocated on the stack of the system's goroutine.
type systemSite struct {
	stack        string
	allocs, live int64
}

// ofSystem has the stacks that lead through it, with the frames that a profile has.
func ofSystem(t *testing.T, path string) (all []systemSite) {
	at := map[string]int{}
	for _, measure := range []string{"count", "blocks"} {
		for line := range strings.Lines(hdb(t, "export", "collapsed", "--lines", "--measure", measure, "-o", "-", path)) {
			end := strings.LastIndexByte(line, ' ')
			stack := line[:max(end, 0)]
			n, err := strconv.ParseInt(strings.TrimSpace(line[end+1:]), 10, 64)
			if err != nil {
				t.Fatal(line, err)
			}
			if !strings.Contains(stack, "main.load") || !strings.Contains(stack, "runtime.systemstack ") && !strings.Contains(stack, "runtime.mcall ") {
				continue
			}
			frames := strings.Split(stack, ";")
			if i := slices.IndexFunc(frames, func(f string) bool { return strings.HasPrefix(f, "runtime.goexit ") }); i >= 0 {
				frames = frames[i+1:]
			}
			slices.Reverse(frames)
			key, hidden := "", true
			for _, f := range frames {
				name, place, _ := strings.Cut(f, " (")
				if hidden = hidden && strings.HasPrefix(name, "runtime."); !hidden {
					key += name + strings.TrimSuffix(place[strings.LastIndexByte(place, ':'):], ")") + ";"
				}
			}
			key = plainName(key)
			i, ok := at[key]
			if !ok {
				i = len(all)
				at[key] = i
				all = append(all, systemSite{stack: key})
			}
			if measure == "count" {
				all[i].allocs += n
			} else {
				all[i].live += n
			}
		}
	}
	return all
}
