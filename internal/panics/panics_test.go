package panics

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestCatch(t *testing.T) {
	if err := Catch(func() {}); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := Catch(func() { panic(io.EOF) }); !errors.As(err, &e) || !errors.Is(err, io.EOF) || !strings.Contains(string(e.Stack), "TestCatch") {
		t.Errorf("%v", err)
	}
	if again := Catch(func() { panic(e) }); again != error(e) {
		t.Errorf("caught again: %v", again)
	}
}

func TestGroup(t *testing.T) {
	var g Group
	did := false
	g.Go(func() { panic("one") })
	err := Catch(func() {
		g.Go(func() { did = true })
		g.Wait()
	})
	if err == nil || err.Error() != "internal error: one" || !did {
		t.Errorf("%v, the other ran: %v", err, did)
	}
}
