package testprogs

import (
	"fmt"
	"regexp"
	"strings"
)

// Normaliser replaces in a transcript what differs between machines and
// runs by placeholders, so that the same address or process keeps the same
// placeholder throughout. It serves one transcript.
type Normaliser struct {
	paths [][2]string // longest first: replaced as they are
	seen  map[string]string
	count map[string]int
}

// NewNormaliser takes pairs of a path and what stands for it. A path that
// lies inside another one must come before it.
func NewNormaliser(paths ...[2]string) *Normaliser {
	return &Normaliser{paths: paths, seen: map[string]string{}, count: map[string]int{}}
}

// Process names a process in advance.
func (n *Normaliser) Process(pid, name string) { n.seen["pid"+pid] = name }

// volatile is one kind of text that differs: the group called "id" is
// replaced by kind and number, or without such a group all by kind.
type volatile struct {
	kind string
	re   *regexp.Regexp
}

var volatiles = []volatile{
	// Five digits and more are addresses; fewer are offsets and flags.
	{"addr", regexp.MustCompile(`\b0x0*(?P<id>[0-9a-f]{5,16})\b`)},
	{"build-id", regexp.MustCompile(`\b[0-9a-f]{40}\b`)},
	{"pid", regexp.MustCompile(`(?i)\b(?:process|pid|ppid|child|parent|lwp|tid|attach)(?: id)?[ :=]+(?P<id>[0-9]{2,7})\b`)},
	{"pid", regexp.MustCompile(`/proc/(?P<id>[0-9]+)\b`)},
	{"date", regexp.MustCompile(`\b20[0-9]{2}-[01][0-9]-[0-3][0-9]\b`)},
	{"clock", regexp.MustCompile(`\b[0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?\b`)},
	{"time", regexp.MustCompile(` *\b[0-9]+(?:\.[0-9]+)? ?(?:s|ms|us|µs|ns)\b`)},
}

// Normalise returns text with its placeholders, without blanks at the ends
// of lines: columns of times and addresses have changing widths.
func (n *Normaliser) Normalise(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, p := range n.paths {
		text = strings.ReplaceAll(text, p[0], p[1])
	}
	for _, v := range volatiles {
		text = n.replace(text, v)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.Join(lines, "\n")
}

func (n *Normaliser) replace(text string, v volatile) string {
	group := v.re.SubexpIndex("id")
	var out strings.Builder
	last := 0
	for _, m := range v.re.FindAllStringSubmatchIndex(text, -1) {
		if group < 0 {
			blank := ""
			if text[m[0]] == ' ' {
				blank = " "
			}
			out.WriteString(text[last:m[0]] + blank + "{" + v.kind + "}")
			last = m[1]
			continue
		}
		from, to := m[2*group], m[2*group+1]
		id := text[from:to]
		if v.kind == "addr" {
			from = m[0] // the 0x too
		}
		out.WriteString(text[last:from] + n.placeholder(v.kind, id))
		last = to
	}
	return out.String() + text[last:]
}

// placeholder is the name of one address or process: {addr1}, {addr2} and
// so on in the order of appearance.
func (n *Normaliser) placeholder(kind, id string) string {
	name, ok := n.seen[kind+id]
	if !ok {
		n.count[kind]++
		name = fmt.Sprintf("{%s%d}", kind, n.count[kind])
		n.seen[kind+id] = name
	}
	return name
}
