package shell

import (
	"fmt"
	"slices"
	"strings"

	"hdb/console/screen"
	"hdb/internal/spelling"
)

// Title is a command's heading: its name and, behind it, its aliases.
func (cmd *Command) Title(full string) string {
	if len(cmd.Aliases) == 0 {
		return full
	}
	return full + ", " + strings.Join(cmd.Aliases, ", ")
}

// Usage is the forms of a command, each with its full name.
func (cmd *Command) Usage(full string) []string {
	var forms []string
	for line := range strings.SplitSeq(cmd.Synopsis, "\n") {
		forms = append(forms, strings.TrimRight(full+" "+line, " "))
	}
	return forms
}

// helpText is the whole help of a command, for the terminal.
func (cmd *Command) helpText(full string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n", cmd.Title(full), cmd.Short)
	if cmd.Run != nil {
		for _, u := range cmd.Usage(full) {
			fmt.Fprintf(&b, "  %s\n", u)
		}
	}
	if cmd.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(cmd.Long))
	}
	if len(cmd.Sub) > 0 {
		b.WriteString("\n")
		for _, s := range cmd.Sub {
			fmt.Fprintf(&b, "  %-24s %s\n", full+" "+s.Name, s.Short)
		}
	}
	if need := cmd.Needs.String(); need != "" {
		fmt.Fprintf(&b, "\nIt %s.\n", need)
	}
	return b.String()
}

// showHelp is `help [COMMAND|GROUP|TOPIC|all]`.
func (c *Shell) showHelp(topic string) error {
	groups := Chapters()
	if topic == "" {
		var rows [][]screen.Span
		for _, cmd := range c.Table.Commands {
			if slices.Contains(c.Table.Essential, cmd.Name) {
				rows = append(rows, []screen.Span{screen.Head(cmd.Name), screen.Plain(UpperFirst(cmd.Short))})
			}
		}
		slices.SortFunc(rows, func(a, b []screen.Span) int {
			at := func(row []screen.Span) int { return slices.Index(c.Table.Essential, row[0].Text) }
			return at(a) - at(b)
		})
		c.Out.Text("The commands that matter most:\n\n")
		c.Out.Table([]screen.Column{{}, {}}, rows)
		c.Out.Text("\nGroups of commands (`help GROUP`, `help COMMAND`, `apropos WORD`, Tab):\n\n")
		rows = nil
		for _, g := range groups {
			rows = append(rows, []screen.Span{screen.Head(string(g.Group)), screen.Plain(g.Title)})
		}
		for _, t := range c.Table.Topics {
			rows = append(rows, []screen.Span{screen.Head(t.Name), screen.Plain(UpperFirst(t.Short))})
		}
		c.Out.Table([]screen.Column{{}, {}}, rows)
		c.Out.Text("\n" + c.Table.Hint + "\n")
		return nil
	}
	for _, g := range groups {
		if topic == string(g.Group) || topic == "all" {
			c.Out.Line(screen.Head(g.Title))
			groupHelp(c.Out, c.Table.Commands, g.Group)
		}
	}
	if topic == "all" || slices.ContainsFunc(groups, func(g Chapter) bool { return topic == string(g.Group) }) {
		return nil
	}
	if t, ok := c.Table.topic(topic); ok {
		c.Out.Text(UpperFirst(t.Name) + ": " + t.Short + ".\n\n" + t.Text + "\n")
		return nil
	}
	return c.commandHelp(topic)
}

func groupHelp(o *screen.Output, table []*Command, g Group) {
	var rows [][]screen.Span
	for _, cmd := range table {
		if cmd.Group == g {
			rows = append(rows, []screen.Span{screen.Func("  " + cmd.Title(cmd.Name)), screen.Plain(cmd.Short)})
		}
	}
	o.Table([]screen.Column{{}, {}}, rows)
}

func (c *Shell) commandHelp(topic string) error {
	word, _ := commandWord(topic)
	if full, ok := c.interp.aliases[word]; ok {
		c.Out.Printf("%s is an alias of `%s`.\n", word, full)
		return nil
	}
	if def := c.interp.defined[word]; def != nil {
		if len(def.doc) == 0 {
			c.Out.Printf("%s is your own command; `document %s` gives it a help text.\n", word, word)
		}
		c.Out.Text(strings.Join(append(def.doc, ""), "\n"))
		return nil
	}
	cmd, err := c.Table.find(c.Table.Commands, word, "command")
	if err != nil {
		if near := spelling.Nearest(word, c.Table.topicNames()); near != "" && c.Table.Missing(word) == nil {
			return fmt.Errorf("no help on %q: did you mean %q?", word, near)
		}
		return err
	}
	_, rest := commandWord(topic)
	name := cmd.Name
	for len(cmd.Sub) > 0 && rest != "" {
		word, rest = commandWord(rest)
		if cmd, err = c.Table.find(cmd.Sub, word, name+" word"); err != nil {
			return err
		}
		name += " " + cmd.Name
	}
	c.Out.Text(cmd.helpText(name))
	return nil
}

// Each calls f for each command and subcommand with its full name.
func (t *Table) Each(f func(full string, cmd *Command)) { each("", t.Commands, f) }

// EachOf calls f for each command of a group and its subcommands, with the full name.
func (t *Table) EachOf(g Group, f func(full string, cmd *Command)) {
	for _, cmd := range t.Commands {
		if cmd.Group == g {
			each("", []*Command{cmd}, f)
		}
	}
}

func each(prefix string, list []*Command, f func(full string, cmd *Command)) {
	for _, cmd := range list {
		f(prefix+cmd.Name, cmd)
		each(prefix+cmd.Name+" ", cmd.Sub, f)
	}
}

// apropos lists the commands and settings whose help has the word.
func (c *Shell) apropos(word string) {
	word = strings.ToLower(word)
	var rows [][]screen.Span
	c.Table.Each(func(full string, cmd *Command) {
		text := strings.Join(append(cmd.Names(), full, cmd.Synopsis, cmd.Short, cmd.Long), " ")
		if strings.Contains(strings.ToLower(text), word) {
			rows = append(rows, []screen.Span{screen.Func(full), screen.Plain(cmd.Short)})
		}
	})
	for _, t := range c.Table.Topics {
		if strings.Contains(strings.ToLower(t.Name+" "+t.Text), word) {
			rows = append(rows, []screen.Span{screen.Func("help " + t.Name), screen.Plain(t.Short)})
		}
	}
	for _, s := range c.Set.Table {
		if strings.Contains(strings.ToLower(s.Name+" "+s.Help), word) {
			rows = append(rows, []screen.Span{screen.Func("set " + s.Name), screen.Plain(s.Help)})
		}
	}
	c.Out.Table([]screen.Column{{}, {}}, rows)
	if len(rows) == 0 {
		c.Out.Printf("nothing in the help has %q\n", word)
	}
}

func UpperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// A Topic is a chapter of the help that is no command.
type Topic struct{ Name, Short, Text string }

// topicNames are what help takes in addition to commands.
func (t *Table) topicNames() []string {
	var names []string
	for _, c := range Chapters() {
		names = append(names, string(c.Group))
	}
	for _, topic := range t.Topics {
		names = append(names, topic.Name)
	}
	return names
}

func (t *Table) topic(name string) (Topic, bool) {
	i := slices.IndexFunc(t.Topics, func(topic Topic) bool { return topic.Name == name })
	if i < 0 {
		return Topic{}, false
	}
	return t.Topics[i], true
}
