package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hdb/console/screen"
	"hdb/internal/spelling"
)

// title is a command's heading: its name and, behind it, its aliases.
func (cmd *Command) title(full string) string {
	if len(cmd.Aliases) == 0 {
		return full
	}
	return full + ", " + strings.Join(cmd.Aliases, ", ")
}

// usage is the forms of a command, each with its full name.
func (cmd *Command) usage(full string) []string {
	var forms []string
	for line := range strings.SplitSeq(cmd.Synopsis, "\n") {
		forms = append(forms, strings.TrimRight(full+" "+line, " "))
	}
	return forms
}

// helpText is the whole help of a command, for the terminal.
func (cmd *Command) helpText(full string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n", cmd.title(full), cmd.Short)
	if cmd.Run != nil {
		for _, u := range cmd.usage(full) {
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
func showHelp(c *Console, topic string) error {
	groups := groupTitles()
	if topic == "" {
		c.out.Text("Groups of commands (`help GROUP`, `help COMMAND`, `apropos WORD`, Tab):\n\n")
		var rows [][]screen.Span
		for _, g := range groups {
			rows = append(rows, []screen.Span{screen.Head(string(g.Group)), screen.Plain(g.Title)})
		}
		for _, t := range topics() {
			rows = append(rows, []screen.Span{screen.Head(t.name), screen.Plain(upperFirst(t.short))})
		}
		c.out.Table([]screen.Column{{}, {}}, rows)
		c.out.Text("\nThe short way: `break alloc if size >= 1MiB`, `run`, `bt`, `list`, `next-alloc`, `save FILE`.\n")
		return nil
	}
	for _, g := range groups {
		if topic == string(g.Group) || topic == "all" {
			c.out.Line(screen.Head(g.Title))
			groupHelp(c.out, c.interp.table, g.Group)
		}
	}
	if topic == "all" || slices.ContainsFunc(groups, func(g struct {
		Group Group
		Title string
	}) bool {
		return topic == string(g.Group)
	}) {
		return nil
	}
	if t, ok := findTopic(topic); ok {
		c.out.Text(upperFirst(t.name) + ": " + t.short + ".\n\n" + t.text + "\n")
		return nil
	}
	return commandHelp(c, topic)
}

func groupHelp(o *screen.Output, table []*Command, g Group) {
	var rows [][]screen.Span
	for _, cmd := range table {
		if cmd.Group == g {
			rows = append(rows, []screen.Span{screen.Func("  " + cmd.title(cmd.Name)), screen.Plain(cmd.Short)})
		}
	}
	o.Table([]screen.Column{{}, {}}, rows)
}

func commandHelp(c *Console, topic string) error {
	word, _ := commandWord(topic)
	if full, ok := c.interp.aliases[word]; ok {
		c.out.Printf("%s is an alias of `%s`.\n", word, full)
		return nil
	}
	if def := c.interp.defined[word]; def != nil {
		if len(def.doc) == 0 {
			c.out.Printf("%s is your own command; `document %s` gives it a help text.\n", word, word)
		}
		c.out.Text(strings.Join(append(def.doc, ""), "\n"))
		return nil
	}
	cmd, err := find(c.interp.table, word, "command")
	if err != nil {
		if near := spelling.Nearest(word, topicNames()); near != "" && notBuilt(word) == nil {
			return fmt.Errorf("no help on %q: did you mean %q?", word, near)
		}
		return err
	}
	_, rest := commandWord(topic)
	name := cmd.Name
	for len(cmd.Sub) > 0 && rest != "" {
		word, rest = commandWord(rest)
		if cmd, err = find(cmd.Sub, word, name+" word"); err != nil {
			return err
		}
		name += " " + cmd.Name
	}
	c.out.Text(cmd.helpText(name))
	return nil
}

// everyCommand calls f for each command and subcommand with its full name.
func everyCommand(table []*Command, f func(full string, cmd *Command)) {
	var walk func(prefix string, list []*Command)
	walk = func(prefix string, list []*Command) {
		for _, cmd := range list {
			f(prefix+cmd.Name, cmd)
			walk(prefix+cmd.Name+" ", cmd.Sub)
		}
	}
	walk("", table)
}

// apropos lists the commands and settings whose help has the word.
func apropos(c *Console, word string) {
	word = strings.ToLower(word)
	var rows [][]screen.Span
	everyCommand(c.interp.table, func(full string, cmd *Command) {
		text := strings.Join(append(cmd.names(), full, cmd.Synopsis, cmd.Short, cmd.Long), " ")
		if strings.Contains(strings.ToLower(text), word) {
			rows = append(rows, []screen.Span{screen.Func(full), screen.Plain(cmd.Short)})
		}
	})
	for _, t := range topics() {
		if strings.Contains(strings.ToLower(t.name+" "+t.text), word) {
			rows = append(rows, []screen.Span{screen.Func("help " + t.name), screen.Plain(t.short)})
		}
	}
	for _, s := range c.set.table {
		if strings.Contains(strings.ToLower(s.name+" "+s.help), word) {
			rows = append(rows, []screen.Span{screen.Func("set " + s.name), screen.Plain(s.help)})
		}
	}
	c.out.Table([]screen.Column{{}, {}}, rows)
	if len(rows) == 0 {
		c.out.Printf("nothing in the help has %q\n", word)
	}
}

// Markdown is docs/commands.md: every command with its help, and the settings.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the table of commands; `go generate ./console` writes it again.\n\n" +
		"A command may be shortened to any prefix that no other command shares; its aliases go before prefixes. An empty line\n" +
		"repeats the last command where that makes sense. Sizes are `4096`, `0x1000`, `64k` (65,536), `1MiB`; counts are `99`, `20k` (20,000);\n" +
		"events are `#4711`.\n\n")
	table := commandTable()
	for _, g := range groupTitles() {
		fmt.Fprintf(&b, "* %s:", g.Title)
		sep := " "
		for _, cmd := range table {
			if cmd.Group == g.Group {
				fmt.Fprintf(&b, "%s[%s](#%s)", sep, cmd.Name, anchor(cmd.Name))
				sep = ", "
			}
		}
		b.WriteString("\n")
	}
	for _, t := range topics() {
		fmt.Fprintf(&b, "* [%s](#%s): %s\n", upperFirst(t.name), anchor(t.name), t.short)
	}
	b.WriteString("\n## For those who know gdb\n\n| gdb | hdb |\n|--|--|\n")
	for _, v := range vocabulary() {
		fmt.Fprintf(&b, "| %s | %s |\n", v.word, strings.ReplaceAll(v.has, "|", "\\|"))
	}
	everyCommand(table, func(full string, cmd *Command) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.", full, upperFirst(cmd.Short))
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, " Also `%s`.", strings.Join(cmd.Aliases, "`, `"))
		}
		if need := cmd.Needs.String(); need != "" {
			fmt.Fprintf(&b, " It %s.", need)
		}
		b.WriteString("\n")
		if cmd.Run != nil {
			fmt.Fprintf(&b, "\n    %s\n", strings.Join(cmd.usage(full), "\n    "))
		}
		if cmd.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", markdownText(cmd.Long))
		}
	})
	for _, t := range topics() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", upperFirst(t.name), markdownText(t.text))
	}
	b.WriteString("\n## Settings\n\n`set NAME VALUE`, `show NAME`; `config -save` keeps them.\n\n| Setting | Default | Meaning |\n|--|--|--|\n")
	for _, s := range settingTable() {
		def := s.def
		if def != "" {
			def = "`" + def + "`"
		}
		help := s.help
		if len(s.values) > 0 {
			help += " (" + strings.Join(s.values, ", ") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.name, def, help)
	}
	return b.String()
}

// markdownText turns the indented examples of a help text into code blocks.
func markdownText(s string) string {
	var b strings.Builder
	code := false
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != code {
			b.WriteString("\n")
			code = indented
		}
		if indented {
			line = "  " + line
		}
		b.WriteString(line + "\n")
	}
	return strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\n\n\n", "\n\n")
}

func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func runHelp(_ context.Context, c *Console, in Input) error { return showHelp(c, in.Raw) }
