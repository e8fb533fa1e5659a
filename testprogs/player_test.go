package testprogs

import (
	"strings"
	"testing"
)

func TestParseSession(t *testing.T) {
	s := parseSession(`# shows it
& {worker} 4
$ hdb -p {pid}
(hdb) commands 1
    > bt
    > end
output
(hdb)
[exit 0]
$ hdb open x
# output too
(hdb) quit
[exit 0]
`)
	if len(s.head) != 1 || s.back != "{worker} 4" || len(s.steps) != 2 {
		t.Fatalf("%+v", s)
	}
	if got := strings.Join(s.steps[0].input, "|"); got != "(hdb) commands 1|    > bt|    > end|(hdb)" {
		t.Errorf("first command's input %q", got)
	}
	if got := strings.Join(s.steps[1].input, "|"); got != "(hdb) quit" {
		t.Errorf("second command's input %q", got)
	}
}

// TestTypedLinesStay has input shown as the file has it, whatever it holds,
// and output normalised around it.
func TestTypedLinesStay(t *testing.T) {
	echoes := [][2]string{{"(hdb) x 0x7ffff7c00010", "(hdb) x 0x7ffff7c00010"}, {"(hdb) file /b/a", "(hdb) file {a}"}, {"(hdb) lost", "(hdb) lost"}}
	got := NewNormaliser([2]string{"/b/a", "{a}"}).withInput("(hdb) x 0x7ffff7c00010\n0x7ffff7c00010: 1\n(hdb) file /b/a\nread /b/a\n[exit 0]\n", echoes)
	want := "(hdb) x 0x7ffff7c00010\n{addr1}: 1\n(hdb) file {a}\nread {a}\n[exit 0]\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBackground runs a program beside the commands of a session.
func TestBackground(t *testing.T) {
	got := newPlayer(t).play(parseSession("& {worker} 2\n$ echo process {pid} in {tmp}\n"))
	want := "& {worker} 2\n$ echo process {pid} in {tmp}\nprocess {pid} in {tmp}\n[exit 0]\n& right some wrong 0\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
