package console

import (
	"fmt"
	"hdb/console/shell"
	"strings"
)

// Markdown is docs/commands.md: every command with its help, and the settings.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the table of commands; `go generate ./console` writes it again.\n\n" +
		"A command may be shortened to any prefix that no other command shares; its aliases go before prefixes. An empty line\n" +
		"repeats the last command where that makes sense. Sizes are `4096`, `0x1000`, `64k` (65,536), `1MiB`; counts are `99`, `20k` (20,000);\n" +
		"events are `#4711`.\n\n")
	table := commandTable(nil)
	for _, g := range shell.Chapters() {
		fmt.Fprintf(&b, "* %s:", g.Title)
		sep := " "
		for _, cmd := range table.Commands {
			if cmd.Group == g.Group {
				fmt.Fprintf(&b, "%s[%s](#%s)", sep, cmd.Name, anchor(cmd.Name))
				sep = ", "
			}
		}
		b.WriteString("\n")
	}
	for _, t := range table.Topics {
		fmt.Fprintf(&b, "* [%s](#%s): %s\n", shell.UpperFirst(t.Name), anchor(t.Name), t.Short)
	}
	b.WriteString("\n## For those who know gdb\n\n| gdb | hdb |\n|--|--|\n")
	for _, v := range vocabulary() {
		fmt.Fprintf(&b, "| %s | %s |\n", v.word, strings.ReplaceAll(v.has, "|", "\\|"))
	}
	table.Each(func(full string, cmd *shell.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.", full, shell.UpperFirst(cmd.Short))
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, " Also `%s`.", strings.Join(cmd.Aliases, "`, `"))
		}
		if need := cmd.Needs.String(); need != "" {
			fmt.Fprintf(&b, " It %s.", need)
		}
		b.WriteString("\n")
		if cmd.Run != nil {
			fmt.Fprintf(&b, "\n    %s\n", strings.Join(cmd.Usage(full), "\n    "))
		}
		if cmd.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", markdownText(cmd.Long))
		}
	})
	for _, t := range table.Topics {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", shell.UpperFirst(t.Name), markdownText(t.Text))
	}
	b.WriteString("\n## Settings\n\n`set NAME VALUE`, `show NAME`; `config -save` keeps them.\n\n| Setting | Default | Meaning |\n|--|--|--|\n")
	for _, s := range settingTable(nil) {
		def := s.Default
		if def != "" {
			def = "`" + def + "`"
		}
		help := s.Help
		if len(s.Values) > 0 {
			help += " (" + strings.Join(s.Values, ", ") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, def, help)
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
