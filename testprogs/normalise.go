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
	musl  bool // the program has musl, whose functions have one name each
}

// NewNormaliser takes pairs of a path and what stands for it. A path that
// lies inside another one must come before it.
func NewNormaliser(paths ...[2]string) *Normaliser {
	return &Normaliser{paths: paths, seen: map[string]string{}, count: map[string]int{}}
}

// Process names a process in advance.
func (n *Normaliser) Process(pid, name string) { n.seen["pid"+pid] = name }

// volatile is one kind of text that differs: the group "id" is replaced by
// kind and number, the group "any" by kind alone, and so is the whole match
// when there is no group.
type volatile struct {
	kind string
	re   *regexp.Regexp
}

// joined is the kind of functions that are one in some versions of glibc.
const joined = "aligned_alloc"

var volatiles = []volatile{
	// Where code without a name lies in its file, as the compiler has it.
	{"offset", regexp.MustCompile(`\S\+0x(?P<any>[0-9a-f]{4,})\+0x[0-9a-f]+`)},
	{"offset", regexp.MustCompile(`\+0x\{offset\}\+0x(?P<any>[0-9a-f]+)`)},
	{"offset", regexp.MustCompile(`\S\+0x(?P<any>[0-9a-f]{4,})(?: \[[a-z]+\])? +\[`)},
	{"offset", regexp.MustCompile(`run till exit of \S+\+0x(?P<any>[0-9a-f]{4,})\b`)},
	// How far below the end of the stack it is depends on the lengths of arguments and environment.
	{"argv", regexp.MustCompile(`\bargv=(?P<any>0x[0-9a-f]{5,16})\b`)},
	{"argv", regexp.MustCompile(`"name":"argv","type":"char \*\*","value":"(?P<any>0x[0-9a-f]+)"`)},
	// Five digits and more are addresses; fewer are offsets and flags.
	{"addr", regexp.MustCompile(`\b0x0*(?P<id>[0-9a-f]{5,16})\b`)},
	{"build-id", regexp.MustCompile(`\b[0-9a-f]{40}\b`)},
	{"pid", regexp.MustCompile(`(?i)\b(?:process|pid|lwp|tid|attach|v?forked)(?: id)?"?[ :=]+(?P<id>[0-9]{2,7})\b`)},
	{"pid", regexp.MustCompile(`\bprocess \{pid[0-9]*\} of (?P<id>[0-9]+)\b`)},
	{"pid", regexp.MustCompile(`/proc/(?P<id>[0-9]+)\b`)},
	{"pid", regexp.MustCompile(`(?m)^[* ] +[0-9]+  +(?P<id>[0-9]+)  "`)},                                // rows of info threads
	{"pid", regexp.MustCompile(`(?m)^[* ] +(?P<id>[0-9]{2,7})  +(?:/[a-z]|\{[a-z][a-zA-Z0-9 =-]*\}$)`)}, // and of info inferiors
	{"date", regexp.MustCompile(`\b20[0-9]{2}-[01][0-9]-[0-3][0-9](?:[ T][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?Z?)?\b`)},
	{"clock", regexp.MustCompile(`\b[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?\b`)},
	{"time", regexp.MustCompile(`"(?:time|start|[a-z_]*_ns)":(?P<any>[0-9.]+)`)},
	{"rate", regexp.MustCompile(`"[a-z]+_per_second":(?P<any>[-+e0-9.]+)`)},
	{"rate", regexp.MustCompile(`(?P<any>-?\b[0-9.]+ [KMGTPE]?i?B)/s\b`)},
	{"rate", regexp.MustCompile(`(?P<any>-?\b[0-9.,]+) blocks/s\b`)},
	{"rate", regexp.MustCompile(`\{rate\}/s +(?P<any>-?[0-9.,]+)  `)}, // the column behind it
	{"size", regexp.MustCompile(`source lines: (?P<any>[0-9.]+ [KMG]?i?B(?:ytes)?)`)},
	// What a process maps and allocates before main depends on the machine's ld.so.cache.
	{"size", regexp.MustCompile(`(?m)^events +[0-9,]+; blocks and mappings: [0-9,]+ of (?P<any>[0-9.]+ MiB \([0-9]+\)), `)},
	{"events", regexp.MustCompile(`(?m)the capture has [0-9,]+ of (?P<any>[0-9,]+)$`)},
	{"size", regexp.MustCompile(`(?m)^size: (?P<any>.*) of encoded events`)},
	{"size", regexp.MustCompile(`(?m)^\S+\.hdb: [0-9]+ events?, (?P<any>[0-9.]+ [KMG]?i?B)`)},
	{"size", regexp.MustCompile(`(?m)^core file \S+: [0-9]+ threads?, (?P<any>.*) on the disk$`)},
	// One function up to glibc 2.37, two from 2.38 on.
	{joined, regexp.MustCompile(`\b(?P<any>aligned_alloc/memalign|aligned_alloc|memalign)\([^()]*\) = `)},
	{"kernel", regexp.MustCompile(`\bkernel (?P<any>[0-9]+\.[0-9]\S*)`)},
	{"kind", regexp.MustCompile(`inside a chunk \((?P<any>[a-z]+)\)`)}, // where a cut falls depends on the lengths of paths
	{"bytes", regexp.MustCompile(`(?P<any>[0-9]+ of its [0-9]+ bytes)`)},
	{"time", regexp.MustCompile(` *\b[0-9]+(?:\.[0-9]+)? ?(?:s|ms|us|µs|ns)\b`)},
}

// sourceLine is a line of source as hdb lists it.
var sourceLine = regexp.MustCompile(`^(=>)? *[0-9]+  `)

var (
	blanks = regexp.MustCompile(`(\S) {2,}`)
	// indent is a column of right-aligned process IDs at the start of a line.
	indent = regexp.MustCompile(`^ +(\{pid)`)
)

// Normalise returns text with its placeholders. Columns are two blanks apart
// except in source lines, and lines end without blanks: paths, times and
// addresses have changing widths.
func (n *Normaliser) Normalise(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, p := range n.paths {
		text = strings.ReplaceAll(text, p[0], p[1])
	}
	for _, v := range volatiles {
		if v.kind == joined && n.musl {
			continue
		}
		text = n.replace(text, v)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if !sourceLine.MatchString(l) {
			l = blanks.ReplaceAllString(indent.ReplaceAllString(l, "   $1"), "$1  ")
		}
		lines[i] = strings.TrimRight(l, " \t")
	}
	return strings.Join(lines, "\n")
}

func (n *Normaliser) replace(text string, v volatile) string {
	id, any := v.re.SubexpIndex("id"), v.re.SubexpIndex("any")
	var out strings.Builder
	last := 0
	for _, m := range v.re.FindAllStringSubmatchIndex(text, -1) {
		from, to, name := m[0], m[1], "{"+v.kind+"}"
		switch {
		case id >= 0:
			name = n.placeholder(v.kind, text[m[2*id]:m[2*id+1]])
			if v.kind != "addr" { // whose 0x goes too
				from, to = m[2*id], m[2*id+1]
			}
		case any >= 0:
			from, to = m[2*any], m[2*any+1]
		case text[from] == ' ': // columns of times
			name = " " + name
		}
		out.WriteString(text[last:from] + name)
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
