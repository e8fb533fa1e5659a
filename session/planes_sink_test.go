package session

import (
	"testing"

	"hdb/internal/cond"
)

// calledBy is a stack with one function.
type calledBy string

func (c calledBy) Func(pattern string) bool { return pattern == string(c) }
func (calledBy) Module(string) bool         { return false }
func (calledBy) Caller(string) bool         { return false }
func (calledBy) PyFile(string) bool         { return false }
func (calledBy) Like(string) bool           { return false }

// TestMayByStack: what a condition asks of the call alone keeps no stack from being told once and for all that it
// cannot match.
func TestMayByStack(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           false,
		"size == 5":                  false,
		"size == 5 || thread == 2":   false,
		`func("here")`:               true,
		`func("there")`:              false,
		`func("here") && size == 5`:  true,
		`func("there") || size == 5`: false,
		`func("here") || size == 5`:  true,
		`size == 5 || addr == 7 || func("there") && size > 1`: false,
		`(func("there") || size == 5) && thread == 1`:         true, // of one term
		`!func("here") || size == 5`:                          false,
		`!func("there")`:                                      true,
	} {
		var c *cond.Cond
		if text != "" {
			var err error
			if c, err = cond.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		if got := mayByStack(c, calledBy("here")); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
