package report

import (
	"fmt"
	"io"
	"strings"

	"hdb/internal/units"
)

// WriteMarkdown writes the verdicts in Markdown, as the summaries of GitHub and the comments of GitLab show it: a table of all, and
// the places of those that failed, with their stacks folded. Foreign names are no Markdown. ended says how the program failed
// by itself, "" if it did not.
func WriteMarkdown(w io.Writer, p *Profile, all []Verdict, ended string) error {
	var b strings.Builder
	failed, undecided := 0, 0
	for i := range all {
		switch {
		case all[i].Failed():
			failed++
		case all[i].Undecided:
			undecided++
		}
	}
	fmt.Fprintf(&b, "### hdb assert: %s\n\n| | limit | found |\n|--|--|--|\n", outcome(len(all), failed, undecided))
	for i := range all {
		v := &all[i]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", v.word(), escaped(strings.TrimSpace(v.Name+" "+v.Limit)), escaped(v.Text))
	}
	if ended != "" {
		fmt.Fprintf(&b, "| failed | program | %s |\n", escaped(ended))
	}
	for i := range all {
		all[i].summary(&b, p)
	}
	for _, line := range p.Caveats.Lines() {
		fmt.Fprintf(&b, "\n> %s\n", escaped(line))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

func outcome(all, failed, undecided int) string {
	switch {
	case failed > 0:
		return fmt.Sprintf("%d of %s failed", failed, units.Count(all, "limit"))
	case undecided > 0:
		return fmt.Sprintf("%d of %s undecided", undecided, units.Count(all, "limit"))
	}
	return fmt.Sprintf("all of %s hold", units.Count(all, "limit"))
}

func (v *Verdict) word() string {
	switch {
	case v.Held:
		return "ok"
	case v.Undecided:
		return "undecided"
	}
	return "**failed**"
}

// summary is the table of the places of a failed assertion.
func (v *Verdict) summary(b *strings.Builder, p *Profile) {
	if len(v.places) == 0 {
		return
	}
	fmt.Fprintf(b, "\n#### %s\n\n| amount | function | line |\n|--|--|--|\n", escaped(v.Name))
	shown := v.places[:min(len(v.places), shownPlaces)]
	for i := range shown {
		function, where := p.siteNames(shown[i].stack)
		fmt.Fprintf(b, "| %s | %s | %s |\n", escaped(v.amount(p, &shown[i])), escaped(function), escaped(where))
	}
	b.WriteString("\n<details><summary>stacks</summary>\n\n")
	for i := range shown {
		fmt.Fprintf(b, "    %s%s\n", v.amount(p, &shown[i]), shown[i].others(p, v.unit))
		b.WriteString(p.stackText(shown[i].stack, "      ", FoldedStacks) + "    \n")
	}
	b.WriteString("\n</details>\n")
	if rest := v.places[len(shown):]; len(rest) > 0 {
		b.WriteString("\n" + escaped(strings.TrimSpace(v.rest(p, rest))) + "\n")
	}
}

// escaped is a text in a table of Markdown, in which no character of it means anything.
func escaped(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`",
		"[", "\\[", "]", "\\]", "#", "\\#", "@", "&#64;", "~", "\\~", "$", "&#36;", "://", "&#58;//", "www.", "www&#46;").Replace(printable(text))
}
