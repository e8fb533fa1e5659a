package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hdb/internal/spelling"
)

// A Command is everything hdb knows about one of its words. Help, prefixes,
// completion and docs/commands.md are all made from the table of commands.
type Command struct {
	Name    string
	Aliases []string
	Group   Group
	// Under is the command of another group that it is a word of, as info.
	Under string
	// Synopsis is what may follow the name, one form per line.
	Synopsis string
	// Short is the summary, without a full stop. Long is the rest of the help:
	// paragraphs, and indented examples.
	Short, Long string
	// Args are the kinds of the arguments in order, for completion; the last one repeats.
	Args []ArgKind
	// Raw gives Run the rest of the line as it was typed instead of words, for
	// conditions, program arguments and shell commands.
	Raw    bool
	Repeat Repeat
	Needs  Need
	// Resumes lets the program run, so that & may follow its line. While is whether it can be
	// asked meanwhile, which holds for its Sub, too.
	Resumes bool
	While   Availability
	// Direct has it print at once, not through $PAGER: it may run the program, by a function
	// in an expression or another command, or has the terminal for itself.
	Direct bool
	// Sub are the words of a command like info, in the same shape. A command
	// with Sub and no Run needs one of them.
	Sub []*Command
	Run func(ctx context.Context, in Input) error
}

// Availability is whether a command runs while the program does.
type Availability uint8

const (
	RunsStopped   Availability = iota // no: it needs a stopped program
	RunsAlongside                     // yes
	StopsFirst                        // it stops the program first
)

// Input is what the user wrote after a command's name.
type Input struct {
	Raw      string   // the rest of the line, blanks trimmed
	Args     []string // its words, nil when the command is Raw
	Repeated bool     // an empty line asked for it again
	Name     string   // the full name of the command, "info line"
}

// Arg is the i-th word, or "".
func (in Input) Arg(i int) string {
	if i < len(in.Args) {
		return in.Args[i]
	}
	return ""
}

// A Group is a chapter of the help.
type Group string

// ArgKind is what completion offers for an argument.
type ArgKind uint8

// The kinds.
const (
	ArgNone         ArgKind = iota
	ArgCommand              // a command's name
	ArgHelp                 // the name of a command, a group or a topic
	ArgSub                  // one of Sub
	ArgFile                 // a path
	ArgLocation             // a function, file:line or allocator word
	ArgFunction             // a function
	ArgSource               // a source file
	ArgStop                 // a stop's number
	ArgThread               // a thread's number
	ArgSetting              // a setting
	ArgValue                // a value of the setting before
	ArgSignal               // a signal's name
	ArgCondition            // a word of the condition language
	ArgMoment               // a moment of a recording
	ArgMomentOrFile         // or a capture
	ArgSince                // words of the synopsis, a moment behind since, a condition behind if
	ArgExpression           // an expression of the program
	ArgType                 // or a type
	ArgEvent                // the number of an event
	ArgDisplay              // the number of a display
	ArgWord                 // a word that the synopsis has in lower case: a flag, or fork in "fork|vfork|exec"
)

// Repeat is what an empty line does after a command.
type Repeat uint8

// The kinds of repetition, gdb's.
const (
	RepeatSame Repeat = iota // the same line again
	RepeatNext               // the command without arguments: it continues where it ended
	RepeatNone               // nothing
)

// Need is what a command works on.
type Need uint8

// The needs.
const (
	NeedNothing  Need = iota
	NeedProgram       // a program, live or not, or a capture
	NeedRunnable      // a program
	NeedLive          // a process
	NeedMemory        // a process or what a core file has of one
	NeedValues        // the same, for the values of variables
	NeedObjects       // the same, for what Python has in memory
	NeedData          // a process, a core file or a capture
	NeedRecord        // a process or a capture
	NeedPast          // a capture, or the recording of a process
)

func (n Need) String() string {
	switch n {
	case NeedProgram:
		return "needs a program or a capture"
	case NeedRunnable:
		return "needs a program"
	case NeedLive:
		return "needs a process"
	case NeedMemory, NeedValues, NeedObjects:
		return "works on a process and on a core file"
	case NeedData:
		return "works on a process, a core file and a capture"
	case NeedRecord:
		return "works on a process and on a capture"
	case NeedPast:
		return "works on a capture, and on the recording of a process"
	}
	return ""
}

// Names are the command's name and aliases.
func (cmd *Command) Names() []string { return append([]string{cmd.Name}, cmd.Aliases...) }

// A Table is the words of a shell: its commands, the further topics of its help, and what it has not got.
type Table struct {
	Commands []*Command
	Topics   []Topic // of the help that are no commands
	Hint     string  // the last line of the help's overview
	// Essential are the names of the commands with which the overview begins, in this order.
	Essential []string
	// Missing is the error for a word that users of other tools look for, nil: it is none of these.
	Missing func(full string) error
}

// NewTable joins the commands of all groups. Those with Under become words of its command, in the order of
// their names.
func NewTable(groups ...[]*Command) *Table {
	t := &Table{}
	var words []*Command
	for _, cmd := range slices.Concat(groups...) {
		if cmd.Under != "" {
			words = append(words, cmd)
		} else {
			t.Commands = append(t.Commands, cmd)
		}
	}
	slices.SortStableFunc(words, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	for _, cmd := range words {
		i := slices.IndexFunc(t.Commands, func(above *Command) bool { return above.Name == cmd.Under })
		t.Commands[i].Sub = append(t.Commands[i].Sub, cmd) // a word of nothing is an error of hdb
	}
	for _, cmd := range t.Commands {
		for _, sub := range cmd.Sub {
			sub.While = max(sub.While, cmd.While)
		}
	}
	return t
}

// has reports whether a command has the name.
func (t *Table) has(name string) bool {
	return slices.ContainsFunc(t.Commands, func(cmd *Command) bool { return slices.Contains(cmd.Names(), name) })
}

// find picks the command that a word means: an exact name or alias, else the
// only command of which it is a prefix, unless it is known and not built. kind names the sort of word in errors.
func (t *Table) find(among []*Command, word, kind string) (*Command, error) {
	var hits []*Command
	for _, cmd := range among {
		if slices.Contains(cmd.Names(), word) {
			return cmd, nil
		}
		if slices.ContainsFunc(cmd.Names(), func(n string) bool { return strings.HasPrefix(n, word) }) {
			hits = append(hits, cmd)
		}
	}
	full := word
	if parent, ok := strings.CutSuffix(kind, " word"); ok {
		full = parent + " " + word
	}
	if err := t.Missing(full); err != nil {
		return nil, err
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		var names []string
		for _, h := range hits {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("ambiguous %s %q: %s", kind, word, strings.Join(names, ", "))
	}
	var all []string
	for _, cmd := range among {
		all = append(all, cmd.Names()...)
	}
	if near := spelling.Nearest(word, all); near != "" {
		return nil, fmt.Errorf("unknown %s %q: did you mean %q?", kind, word, near)
	}
	help := "help"
	if command, ok := strings.CutSuffix(kind, " word"); ok {
		help += " " + command
	}
	return nil, fmt.Errorf("unknown %s %q: see `%s`", kind, word, help)
}

// Resolve walks from a line to the command it names, through subcommands, and
// returns what is left of the line and the full name.
func (t *Table) Resolve(line string) (cmd *Command, rest, name string, err error) {
	word, rest := commandWord(line)
	if cmd, err = t.find(t.Commands, word, "command"); err != nil {
		return nil, "", "", err
	}
	name = cmd.Name
	for len(cmd.Sub) > 0 {
		word, after := commandWord(rest)
		if word == "" {
			break
		}
		sub, err := t.find(cmd.Sub, word, name+" word")
		if err != nil {
			if cmd.Run != nil {
				break // its own Run reads what is no subcommand
			}
			return nil, "", "", err
		}
		cmd, rest, name = sub, after, name+" "+sub.Name
	}
	if cmd.Run == nil {
		return nil, "", "", fmt.Errorf("%s: one of %s must follow", name, strings.Join(subNames(cmd), ", "))
	}
	return cmd, rest, name, nil
}

func subNames(cmd *Command) []string {
	var names []string
	for _, s := range cmd.Sub {
		names = append(names, s.Name)
	}
	return names
}

// commandWord cuts the command's word off a line. As in gdb it ends at the first
// character that no command has in its name, so that `x/4xg` and `p/x` work;
// a lone `|` or `!` is a word too.
func commandWord(line string) (word, rest string) {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return "", ""
	}
	if line[0] == '|' || line[0] == '!' {
		return line[:1], strings.TrimLeft(line[1:], " \t")
	}
	i := strings.IndexFunc(line, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if i < 0 {
		return line, ""
	}
	if i == 0 {
		return SplitWord(line)
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}
