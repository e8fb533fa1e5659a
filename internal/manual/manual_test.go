package manual

import (
	"strings"
	"testing"
)

// TestPage turns a help text with everything that they have into a page.
func TestPage(t *testing.T) {
	p := Page{Name: "hdb-try", Section: 1, Date: "2026-01-02", Version: "1.0", See: []string{"hdb(1)"}, More: "More of it:\n  as it is\n", Text: `hdb try tries, without a console. It
is quick.

usage:
  hdb try [flags] FILE
  hdb try -p PID

flags, with one dash or two:
  -o FILE     the file, by default
              .try
  --force
              replace it
columns:
  -a  one     -b  two

More prose.
.not a request, 'nor this, and a \ too

examples:
  hdb try x

exit codes: 0 done,
1 failed
`}
	want := `.TH HDB\-TRY 1 "2026-01-02" "hdb 1.0" "hdb"
.SH NAME
hdb\-try \- tries, without a console
.SH SYNOPSIS
.nf
.RS 4
hdb try [flags] FILE
hdb try \-p PID
.RE
.fi
.SH DESCRIPTION
hdb try tries, without a console. It
is quick.
.PP
More prose.
\&.not a request, \(aqnor this, and a \e too
.PP
More of it:
.nf
.RS 4
as it is
.RE
.fi
.SH FLAGS, WITH ONE DASH OR TWO
.TP
\-o FILE
the file, by default
\&.try
.TP
\-\-force
replace it
.SH COLUMNS
.nf
.RS 4
\-a  one     \-b  two
.RE
.fi
.SH EXAMPLES
.nf
.RS 4
hdb try x
.RE
.fi
.SH EXIT STATUS
0 done,
1 failed
.SH SEE ALSO
hdb(1)
`
	if got := p.Roff(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestEmpty has texts that lack parts.
func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "\n\n", "usage: hdb x\n", "flags:\n", "exit codes: \n", "  \n -"} {
		if got := (&Page{Name: "x", Section: 1, Text: text}).Roff(); !strings.Contains(got, ".SH DESCRIPTION") {
			t.Errorf("%q: %s", text, got)
		}
	}
}
