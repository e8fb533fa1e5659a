package console

import (
	"errors"
	"fmt"
	"testing"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/inferior"
)

// TestOrderOfFailures: a failed assertion decides the exit code, then one that is
// undecided, then the first failure of the others.
func TestOrderOfFailures(t *testing.T) {
	failed, undecided := fmt.Errorf("%w: 1 of 2", desk.ErrAssertion), fmt.Errorf("%w: 1 of 2", desk.ErrUndecided)
	launch, terminal, other := &inferior.LaunchError{Path: "prog", Cause: errors.New("gone")}, &screen.TerminalError{}, errors.New("other")
	for _, tc := range []struct {
		errs []error
		want int
	}{
		{nil, desk.ExitOK},
		{[]error{other}, desk.ExitFailed},
		{[]error{launch, other, terminal}, desk.ExitLaunch},
		{[]error{other, launch}, desk.ExitFailed},
		{[]error{terminal, launch}, desk.ExitUsage},
		{[]error{failed}, desk.ExitAssertion},
		{[]error{undecided}, desk.ExitUndecided},
		{[]error{failed, undecided, other}, desk.ExitAssertion},
		{[]error{undecided, failed, undecided}, desk.ExitAssertion},
		{[]error{other, undecided, launch}, desk.ExitUndecided},
		{[]error{launch, other, failed}, desk.ExitAssertion},
		{[]error{undecided, other}, desk.ExitUndecided},
		{[]error{errors.Join(failed, other)}, desk.ExitAssertion}, // and a file that could not be written
		{[]error{errors.Join(undecided, other)}, desk.ExitUndecided},
		{[]error{errors.Join(undecided, failed)}, desk.ExitAssertion},
	} {
		var x desk.ExitStatus
		for _, err := range tc.errs {
			x.Failed(err)
		}
		if got := x.Total(false, false); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.errs, got, tc.want)
		}
	}
}
