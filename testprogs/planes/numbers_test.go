package planes

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"hdb/inferior/machine"
	"hdb/testprogs"
)

// numbered are a stop's event, and what info breakpoints says of all others.
var numbered = regexp.MustCompile(`#\d+ malloc\(471\d\)|[\d,]+ other events`)

// TestNumbers: the number of an event is the same, whatever else is asked and however
// calls are followed.
func TestNumbers(t *testing.T) {
	for _, flags := range [][]string{nil, {"-static"}, {"-DOWN"}, {"-DOWN", "-static"}} {
		for _, m := range testprogs.Machines(machine.FSGSBase) {
			t.Run(fmt.Sprint(flags)+"/"+m.Name, func(t *testing.T) {
				t.Parallel()
				j := program(t, "numbers", flags)
				j.Env = append(slices.Clip(j.Env), m.Env...)
				sameNumbers(t, j)
			})
		}
	}
}

// sameNumbers compares the numbers of the stops of a program.
func sameNumbers(t *testing.T, j job) {
	t.Helper()
	var first []string
	for _, mode := range []struct {
		name, condition string
		commands        []string
	}{
		{"recorded", "", append(probe.settings(), "record start")},
		{"counted in the process", "", probe.settings()},
		{"with a number in the condition", " && nth > 3", probe.settings()},
		{"with plain breakpoints", "", plain.settings()},
		{"recorded by plain breakpoints", "", append(plain.settings(), "record start")},
	} {
		commands := append(append([]string{"set print sizes raw"}, mode.commands...), "break alloc if size >= 4711 && size < 4720"+mode.condition,
			"run > /dev/null", "continue", "continue", "continue", "info breakpoints")
		said, err := hdb(t, j, commands, "--args", j.Path)
		if err != nil {
			t.Fatalf("%s: %v\n%s", mode.name, err, said)
		}
		got := numbered.FindAllString(said, -1)
		switch {
		case len(got) != 5:
			t.Fatalf("%s: %q\n%s", mode.name, got, said)
		case first == nil:
			first = got
		case !slices.Equal(got, first):
			t.Errorf("%s: %q, recorded %q", mode.name, got, first)
		}
	}
}
