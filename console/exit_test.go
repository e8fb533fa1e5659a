package console

import (
	"errors"
	"fmt"
	"testing"

	"hdb/console/screen"
	"hdb/inferior"
)

// TestOrderOfFailures: a failed assertion decides the exit code, then one that is
// undecided, then the first failure of the others.
func TestOrderOfFailures(t *testing.T) {
	failed, undecided := fmt.Errorf("%w: 1 of 2", errAssertion), fmt.Errorf("%w: 1 of 2", errUndecided)
	launch, terminal, other := &inferior.LaunchError{Path: "prog", Cause: errors.New("gone")}, &screen.TerminalError{}, errors.New("other")
	for _, tc := range []struct {
		errs []error
		want int
	}{
		{nil, ExitOK},
		{[]error{other}, ExitFailed},
		{[]error{launch, other, terminal}, ExitLaunch},
		{[]error{other, launch}, ExitFailed},
		{[]error{terminal, launch}, ExitUsage},
		{[]error{failed}, ExitAssertion},
		{[]error{undecided}, ExitUndecided},
		{[]error{failed, undecided, other}, ExitAssertion},
		{[]error{undecided, failed, undecided}, ExitAssertion},
		{[]error{other, undecided, launch}, ExitUndecided},
		{[]error{launch, other, failed}, ExitAssertion},
		{[]error{undecided, other}, ExitUndecided},
		{[]error{errors.Join(failed, other)}, ExitAssertion}, // and a file that could not be written
		{[]error{errors.Join(undecided, other)}, ExitUndecided},
		{[]error{errors.Join(undecided, failed)}, ExitAssertion},
	} {
		var x exitStatus
		for _, err := range tc.errs {
			x.failed(err)
		}
		if got := x.total(false, false); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.errs, got, tc.want)
		}
	}
}
