// Package machine tells what the machine can do that hdb makes use of: the processor, the kernel and
// the rights of hdb's process. Each ability is found out by trying it, when it is first asked for,
// once in a process.
//
// Tests, and users who doubt an answer, mask abilities by HDB_WITHOUT, names with commas between
// them: HDB_WITHOUT=fsgsbase,debugregs has hdb do without them.
package machine

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// Variable is the environment variable that masks abilities.
const Variable = "HDB_WITHOUT"

// An Ability is something that not every machine can do.
type Ability int

// The abilities, in the order in which they are listed.
const (
	FSGSBase          Ability = iota // programs may read and write the FS base by an instruction
	DebugRegisters                   // the debug registers stop a thread at an instruction, and after an access
	ExtendedRegisters                // the kernel hands out and takes all registers for vectors
	TSC                              // programs may read the time stamp counter
	PagemapScan                      // the kernel finds pages in memory, by ioctl PAGEMAP_SCAN
	HugePages                        // the kernel gives transparent huge pages
	Unfiltered                       // hdb is under no seccomp filter
	UserNamespaces                   // hdb may make user namespaces
	PerfEvents                       // hdb may count instructions by perf_event_open
	abilities
)

// A trial is how an ability is found out, and what is said of it.
type trial struct {
	word    string // of HDB_WITHOUT
	name    string // for people
	without string // what hdb does without it
	matters bool   // hdb itself makes use of it
	found   func() result
}

// A result is what a trial has shown.
type result struct {
	works bool
	how   string // what was tried, and what came of it
}

// trials are by ability. What was found out is a fact of the machine and is kept.
var trials = [abilities]trial{
	FSGSBase: {"fsgsbase", "FSGSBASE", "calls of allocators before the program has an FS base, by the dynamic linker, cost a stop each",
		true, sync.OnceValue(tryFSGSBase)},
	DebugRegisters: {"debugregs", "debug registers", "memory is watched by single steps, hbreak is a software breakpoint, lines of Python are found by traps in the interpreter: all slower",
		true, sync.OnceValue(tryDebugRegisters)},
	ExtendedRegisters: {"xsave", "registers for vectors", "registers for vectors cannot be printed, and are not kept over calls of functions",
		true, sync.OnceValue(tryExtendedRegisters)},
	TSC: {"tsc", "time stamp counter", "the probe asks the kernel for the time, which is slower",
		true, sync.OnceValue(tryTSC)},
	PagemapScan: {"pagemapscan", "PAGEMAP_SCAN", "pages are looked for one by one in /proc/PID/pagemap, where only root can tell the page of zeros, which counts as resident otherwise",
		true, sync.OnceValue(tryPagemapScan)},
	HugePages: {"hugepages", "transparent huge pages", "hdb works the same; programs have small pages only",
		false, sync.OnceValue(tryHugePages)},
	Unfiltered: {"unfiltered", "no seccomp filter", "programs that hdb starts are under the filter, too, and may be refused what they ask the kernel for",
		true, sync.OnceValue(tryUnfiltered)},
	UserNamespaces: {"userns", "user namespaces", "hdb works the same: only its own tests of containers need user namespaces",
		false, sync.OnceValue(tryUserNamespaces)},
	PerfEvents: {"perf", "counters of perf", "hdb works the same: it does not count by them",
		false, sync.OnceValue(tryPerfEvents)},
}

// Has reports whether the machine has the ability and HDB_WITHOUT does not mask it.
func Has(a Ability) bool { return !masked(a) && trials[a].found().works }

// Real reports whether the machine has the ability, masked or not: what other programs, gdb for
// one, can do here.
func Real(a Ability) bool { return trials[a].found().works }

func (a Ability) String() string { return trials[a].name }

// Word is the ability's in HDB_WITHOUT.
func (a Ability) Word() string { return trials[a].word }

// masked reports whether HDB_WITHOUT names the ability.
func masked(a Ability) bool { return slices.Contains(words(), trials[a].word) }

// words are those of HDB_WITHOUT.
func words() []string {
	return strings.FieldsFunc(os.Getenv(Variable), func(r rune) bool { return r == ',' || r == ' ' })
}

// Check is an error if HDB_WITHOUT has a word that is no ability.
func Check() error {
	known := make([]string, 0, abilities)
	for _, t := range trials {
		known = append(known, t.word)
	}
	for _, w := range words() {
		if !slices.Contains(known, w) {
			return fmt.Errorf("%s: %q is not a feature of the machine: one of %s expected", Variable, w, strings.Join(known, ", "))
		}
	}
	return nil
}

// A State is whether the machine has an ability.
type State string

// The states.
const (
	Present State = "present"
	Absent  State = "absent"
	Masked  State = "masked" // by HDB_WITHOUT
)

// A Finding is what is known of an ability.
type Finding struct {
	Ability Ability
	Word    string // of HDB_WITHOUT
	Name    string
	State   State
	How     string // what was tried, and what came of it
	Without string // what hdb does without it
	Matters bool   // hdb itself makes use of it
}

// Missing reports whether hdb has to do without something it makes use of.
func (f *Finding) Missing() bool { return f.Matters && f.State != Present }

// All tries all abilities.
func All() []Finding {
	var all []Finding
	for a, t := range trials {
		r := t.found()
		f := Finding{Ability: Ability(a), Word: t.word, Name: t.name, State: Present, How: r.how, Without: t.without, Matters: t.matters}
		switch {
		case masked(f.Ability):
			f.State, f.How = Masked, Variable+" masks it"
		case !r.works:
			f.State = Absent
		}
		all = append(all, f)
	}
	return all
}
