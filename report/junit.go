package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The elements and attributes that readers of JUnit's reports agree on.
type (
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Failure   *junitFailure `xml:"failure,omitempty"`
		Error     *junitFailure `xml:"error,omitempty"`
		Output    string        `xml:"system-out,omitempty"`
		Warning   string        `xml:"system-err,omitempty"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
)

// WriteJUnit writes the verdicts as a JUnit XML report: a test case each, in error if
// it is undecided, and one for the program and for the recording. The program is in
// error if it failed by itself, as failed says; the recording has the caveats, and what
// is suppressed, nil without suppressions.
func WriteJUnit(w io.Writer, p *Profile, all []Verdict, failed string, u *Suppressed) error {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
	const class = "hdb.assert"
	s := junitSuite{
		Name: printable(p.Title), Time: seconds(p.Moment.Time), Hostname: printable(p.Host),
		Timestamp: p.Start.UTC().Format("2006-01-02T15:04:05"), // as in JUnit's schema: no zone
		Properties: []junitProperty{
			{"program", printable(p.Program)}, {"pid", fmt.Sprint(p.PID)},
			{"events", fmt.Sprint(p.Events)}, {"lost", atLeast(p.LostOpen) + fmt.Sprint(p.Lost)}, {"hdb", printable(p.Created)},
		},
	}
	program := junitCase{Name: "program", ClassName: class, Time: s.Time}
	if failed != "" {
		program.Error = &junitFailure{Message: printable(failed), Type: "program", Text: printable(failed)}
		s.Errors++
	}
	recording := junitCase{Name: "recording", ClassName: class, Time: seconds(0), Output: u.Text(), Warning: printable(strings.Join(p.Caveats.Lines(), "; "))}
	s.Cases = append(s.Cases, program, recording)
	for i := range all {
		v := &all[i]
		name := v.Name
		if v.Limit != "" {
			name += " " + v.Limit
		}
		c := junitCase{Name: name, ClassName: class, Time: seconds(0)}
		switch {
		case v.Held:
			c.Output = printable(v.Text)
		case v.Undecided:
			c.Error = &junitFailure{Message: printable(v.Text), Type: v.Name, Text: printable(v.Text)}
			s.Errors++
		default:
			c.Failure = &junitFailure{Message: printable(v.Text), Type: v.Name, Text: "\n" + v.details(p, FoldedStacks)}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(junitSuites{Name: "hdb assert", Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Time: s.Time, Suites: []junitSuite{s}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
