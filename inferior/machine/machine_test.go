package machine

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAll tries everything; what comes of it is the machine's affair.
func TestAll(t *testing.T) {
	t.Setenv(Variable, "")
	all := All()
	if len(all) != int(abilities) {
		t.Errorf("%d of %d abilities", len(all), abilities)
	}
	for _, f := range all {
		t.Logf("%-10s %-24s %-8s %s", f.Word, f.Name, f.State, f.How)
		if f.Word == "" || f.Name == "" || f.How == "" || f.Without == "" || f.Ability.String() != f.Name {
			t.Errorf("not told: %+v", f)
		}
		if strings.Contains(f.How, "cannot be tried") {
			t.Errorf("%s: %s", f.Name, f.How)
		}
		if has := f.State == Present; Has(f.Ability) != has || Real(f.Ability) != has {
			t.Errorf("%s is %s, but Has says %v", f.Name, f.State, Has(f.Ability))
		}
	}
}

// TestDebugRegisters has the debug registers of a child be what the kernel says they are: set, and read back.
// Where the processor is no virtual one they fire, too.
func TestDebugRegisters(t *testing.T) {
	c := tried()
	if c.err != nil || c.refused != nil {
		t.Fatalf("not tried: %v, %v", c.err, c.refused)
	}
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	if virtual := strings.Contains(string(b), " hypervisor"); !virtual && !(c.execute && c.write) {
		t.Errorf("execute %v, write %v on a processor of its own", c.execute, c.write)
	}
}

// TestNothingLeft has no child of a trial live on, nor be waited for.
func TestNothingLeft(t *testing.T) {
	for _, flags := range []uintptr{0, unix.CLONE_NEWUSER} {
		var child int
		err := inChild(flags, func(pid int) error { child = pid; return nil })
		if err != nil {
			if flags == 0 {
				t.Error(err)
			}
			continue // no user namespaces
		}
		if err := unix.Kill(child, 0); err != unix.ESRCH {
			t.Errorf("process %d of a trial: %v", child, err)
		}
	}
}

// TestMasked masks abilities by the variable, which is read at each question.
func TestMasked(t *testing.T) {
	for _, c := range []struct {
		value string
		want  []Ability
		err   string
	}{
		{"", nil, ""},
		{"debugregs", []Ability{DebugRegisters}, ""},
		{"fsgsbase,tsc, perf,", []Ability{FSGSBase, TSC, PerfEvents}, ""},
		{"debugregs,debug", []Ability{DebugRegisters}, `HDB_WITHOUT: "debug" is not a feature of the machine: one of fsgsbase, debugregs, `},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Setenv(Variable, c.value)
			var got []Ability
			for _, f := range All() {
				if f.State == Masked {
					got = append(got, f.Ability)
					if Has(f.Ability) {
						t.Errorf("%s is masked, but there", f.Name)
					}
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("masked %v, want %v", got, c.want)
			}
			for i, a := range got {
				if a != c.want[i] {
					t.Errorf("masked %v, want %v", got, c.want)
				}
			}
			if err := Check(); (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("error %v, want %s", err, c.err)
			}
		})
	}
}

// TestWithout has the words that follow "without NAME: " say what hdb does then.
func TestWithout(t *testing.T) {
	for _, f := range All() {
		if f.Without == "" || strings.HasPrefix(f.Without, "nothing") || !f.Matters && !strings.HasPrefix(f.Without, "hdb works the same") {
			t.Errorf("without %s: %s", f.Name, f.Without)
		}
	}
}

func BenchmarkTrial(b *testing.B) {
	for b.Loop() {
		var c childTrial
		if err := inChild(0, c.try); err != nil {
			b.Fatal(err)
		}
	}
}
