package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
)

// maxAnnotations is how many GitHub shows of a step.
const maxAnnotations = 10

// WriteAnnotations writes the places of failed assertions as workflow commands of GitHub, which shows them at their lines: an error
// each, the first of each assertion first (docs.github.com, workflow commands).
func WriteAnnotations(w io.Writer, p *Profile, all []Verdict, o Options) error {
	var b strings.Builder
	written := 0
	for n := 0; written < maxAnnotations; n++ {
		more := false
		for i := range all {
			v := &all[i]
			if n == 0 && v.Failed() && len(v.places) == 0 {
				fmt.Fprintf(&b, "::error::%s\n", commandData(v.Name+": "+v.Text))
			}
			if n >= len(v.places) || written == maxAnnotations {
				continue
			}
			more = true
			written++
			text, file, line := v.note(p, n, o)
			fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", commandProperty(file), line, commandProperty("hdb assert: "+v.Name), commandData(text))
		}
		if !more {
			break
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// note is the text of a place of a failed assertion, and its line; its source is relative to the root if it is below.
func (v *Verdict) note(p *Profile, n int, o Options) (text, file string, line int) {
	f := &v.places[n]
	function := "(no stack)"
	file, line = p.Program, 1
	if site := p.site(f.stack); site != nil {
		function = site.Function
		if site.File != "" && site.Line > 0 {
			file, line = site.File, site.Line
		}
	}
	text = v.amount(p, f) + " in " + printable(function)
	if n == 0 {
		text += "; " + v.Text
	}
	if below, ok := strings.CutPrefix(path.Clean(file), strings.TrimSuffix(o.Root, "/")+"/"); ok && o.Root != "" {
		file = below
	}
	return text, printable(file), line
}

// commandData is a text behind a workflow command.
func commandData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(printable(text))
}

// commandProperty is the value of a property of a workflow command.
func commandProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(text))
}

// WriteCodeQuality writes the places of failed assertions as a code quality report of GitLab (docs.gitlab.com, code quality): an
// issue each.
func WriteCodeQuality(w io.Writer, p *Profile, all []Verdict, o Options) error {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		Check       string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	issues := []issue{}
	for i := range all {
		v := &all[i]
		for n := range v.places {
			if n == sarifResults/len(sarifRules) {
				break
			}
			text, file, line := v.note(p, n, o)
			issues = append(issues, issue{v.Name + ": " + text, "hdb/" + v.Name, v.Name + ":" + v.places[n].fingerprint, "major", location{file, lines{line}}})
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(issues)
}
