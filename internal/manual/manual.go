// Package manual turns the help texts of the command line and of the console into manual pages (man(7)).
package manual

import (
	"fmt"
	"strings"

	"hdb/internal/lazyregexp"
)

// A Page is one manual page. Text is what the command's --help prints: a sentence or two, then paragraphs, and blocks under
// a heading that ends with a colon, of which "usage" comes first.
type Page struct {
	Name    string // hdb-record
	Section int
	Text    string
	More    string   // of the description, in the form of Text
	See     []string // other pages, as hdb(1)
	Date    string   // 2006-01-02
	Version string
}

// Roff is the source of a page.
func (p *Page) Roff() string {
	s := parse(p.Text)
	var b strings.Builder
	b.WriteString(Header(p.Name, p.Section, s.short(p.Name), p.Date, p.Version))
	b.WriteString(".SH SYNOPSIS\n" + verbatim(s.usage))
	b.WriteString(".SH DESCRIPTION\n")
	for i, text := range s.prose {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(fill(text))
	}
	if p.More != "" {
		b.WriteString(".PP\n" + Text(p.More))
	}
	for _, block := range s.blocks {
		fmt.Fprintf(&b, ".SH %s\n%s", strings.ToUpper(Escape(block.title)), block.roff())
	}
	if s.exit != "" {
		b.WriteString(".SH EXIT STATUS\n" + fill(s.exit))
	}
	if len(p.See) > 0 {
		b.WriteString(".SH SEE ALSO\n" + Escape(strings.Join(p.See, ", ")) + "\n")
	}
	return b.String()
}

// Header is the head of a page, with its NAME section.
func Header(name string, section int, short, date, version string) string {
	return fmt.Sprintf(".TH %s %d \"%s\" \"hdb %s\" \"hdb\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(Escape(name)), section, date, Escape(version), Escape(name), Escape(short))
}

// Text is the source of a help text of the console: paragraphs, and indented lines as they are.
func Text(text string) string {
	var b strings.Builder
	for i, part := range split(text) {
		switch {
		case strings.HasPrefix(part, " "):
			b.WriteString(verbatim(part))
		case i > 0:
			b.WriteString(".PP\n" + fill(part))
		default:
			b.WriteString(fill(part))
		}
	}
	return b.String()
}

// Escape writes a text so that no character of it means anything to the formatter.
func Escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "'", `\(aq`, "`", `\(ga`).Replace(text)
}

// line is a line of a text, which never begins with a request.
func line(text string) string {
	if text = Escape(text); strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text + "\n"
}

// fill is a paragraph whose lines the formatter breaks.
func fill(text string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		b.WriteString(line(strings.TrimSpace(l)))
	}
	return b.String()
}

// verbatim are lines as they are, without what all of them are indented by.
func verbatim(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	least := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	var b strings.Builder
	b.WriteString(".nf\n.RS 4\n")
	for _, l := range lines {
		b.WriteString(line(l[min(max(least, 0), len(l)):]))
	}
	b.WriteString(".RE\n.fi\n")
	return b.String()
}

// split cuts a text where a blank line or a change of indentation is.
func split(text string) []string {
	var parts []string
	var part strings.Builder
	indented := false
	end := func() {
		if strings.TrimSpace(part.String()) != "" {
			parts = append(parts, part.String())
		}
		part.Reset()
	}
	for l := range strings.SplitSeq(text, "\n") {
		if is := strings.HasPrefix(l, " "); strings.TrimSpace(l) == "" || is != indented {
			end()
			indented = is
		}
		if strings.TrimSpace(l) != "" {
			part.WriteString(l + "\n")
		}
	}
	end()
	return parts
}

// A help is a text that is cut into its parts.
type help struct {
	usage  string
	prose  []string
	blocks []block
	exit   string
}

type block struct{ title, text string }

func parse(text string) help {
	var h help
	title := ""
	for _, part := range split(text) {
		first, rest, _ := strings.Cut(part, "\n")
		switch {
		case strings.HasPrefix(part, " ") && title == "usage":
			h.usage += part
		case strings.HasPrefix(part, " "):
			h.blocks = append(h.blocks, block{title, part})
		case strings.HasPrefix(part, "usage: "):
			h.usage = strings.TrimPrefix(part, "usage: ")
		case strings.HasPrefix(part, "exit codes: "):
			h.exit = strings.TrimPrefix(part, "exit codes: ")
		case strings.HasSuffix(first, ":") && rest == "":
			title = strings.TrimSuffix(first, ":")
		default:
			h.prose = append(h.prose, part)
			title = "notes"
		}
	}
	return h
}

// short is the first sentence without the name of the command: the text of NAME, which apropos(1) searches.
func (h *help) short(name string) string {
	if len(h.prose) == 0 {
		return name
	}
	text := strings.Join(strings.Fields(h.prose[0]), " ")
	text = strings.TrimPrefix(text, strings.ReplaceAll(name, "-", " ")+" ")
	text = strings.TrimPrefix(text, "hdb ")
	if i := strings.IndexAny(text, ".:;"); i >= 0 {
		text = text[:i]
	}
	if text == "" {
		return name
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// item matches the first line about a flag in a block: the flag, and the text behind it.
var item = lazyregexp.New(`^ {2}(-\S.*?)(?: {2,}(\S.*))?$`)

// roff is a block: a list of flags with their texts, or the lines as they are if it is anything else.
func (b *block) roff() string {
	if strings.HasPrefix(b.title, "example") {
		return verbatim(b.text)
	}
	var out strings.Builder
	for l := range strings.SplitSeq(strings.TrimRight(b.text, "\n"), "\n") {
		m := item().FindStringSubmatch(l)
		switch {
		case m != nil && strings.Contains(m[2], "   "), m == nil && !strings.HasPrefix(l, "    "), m == nil && out.Len() == 0:
			return verbatim(b.text) // two columns, or no list
		case m != nil:
			out.WriteString(".TP\n" + line(m[1]))
			if m[2] != "" {
				out.WriteString(line(m[2]))
			}
		default:
			out.WriteString(line(strings.TrimSpace(l)))
		}
	}
	return out.String()
}
