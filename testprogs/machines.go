package testprogs

import (
	"testing"

	"hdb/inferior/machine"
)

// A Machine is one that a test has hdb run on: this one, or as one that lacks something.
type Machine struct {
	Name string
	Env  []string // what is added to the environment of hdb
}

// Machines are this machine, if it has the ability, by the name of that, and one "without" it. Each developer's tests
// so run on every machine.
func Machines(a machine.Ability) (all []Machine) {
	if machine.Has(a) {
		all = append(all, Machine{Name: a.String()})
	}
	return append(all, Machine{"without", []string{machine.Variable + "=" + a.Word()}})
}

// OnMachines runs a test in this process on each of Machines. The test may have no parallel ones around it.
func OnMachines(t *testing.T, a machine.Ability, f func(t *testing.T)) {
	t.Helper()
	for _, m := range Machines(a) {
		t.Run(m.Name, func(t *testing.T) {
			if len(m.Env) > 0 {
				t.Setenv(machine.Variable, a.Word())
			}
			f(t)
		})
	}
}
