package console

import (
	"fmt"
	"strings"

	"hdb/console/shell"
	"hdb/internal/manual"
)

// Markdown is the whole manual in one text.
func Markdown() string {
	var b strings.Builder
	for _, p := range Manual() {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// A ManualPage is a file of the manual.
type ManualPage struct {
	Path string // below docs
	Text string
}

// Manual is docs/commands.md, the index, and the pages in docs/commands that it leads to: one
// for each group of commands and each topic, one for gdb's words and one for the settings.
func Manual() []ManualPage {
	var index strings.Builder
	index.WriteString("# Commands\n\nGenerated from the table of commands by `go generate ./console`.\n\n" +
		"A command may be shortened to any prefix that no other command shares. Aliases take precedence over prefixes.\n" +
		"An empty line repeats the last command if that is useful. Sizes are `4096`, `0x1000`, `64k` (65,536), `1MiB`;\n" +
		"counts are `99`, `20k` (20,000); events are `#4711`.\n\n")
	var pages []ManualPage
	page := func(name, title, text string) string {
		pages = append(pages, ManualPage{"commands/" + name + ".md", fmt.Sprintf("# %s\n\n[All commands](../commands.md)\n%s", title, text)})
		return "commands/" + name + ".md"
	}
	table := commandTable(nil)
	for _, t := range table.Topics {
		fmt.Fprintf(&index, "* [%s](%s): %s\n", shell.UpperFirst(t.Name), page(t.Name, shell.UpperFirst(t.Name), "\n"+markdownText(t.Text)+"\n"), t.Short)
	}
	fmt.Fprintf(&index, "* [Settings](%s)\n", page("settings", "Settings", settingsPage()))
	fmt.Fprintf(&index, "* [For those who know gdb](%s)\n", page("gdb", "For those who know gdb", vocabularyPage()))
	for _, g := range shell.Chapters() {
		var text, rows strings.Builder
		table.EachOf(g.Group, func(full string, cmd *shell.Command) { writeCommand(&text, full, cmd) })
		path := page(string(g.Group), g.Title, text.String())
		for _, cmd := range table.Commands {
			if cmd.Group == g.Group {
				fmt.Fprintf(&rows, "| [%s](%s#%s) | %s |\n", cmd.Name, path, anchor(cmd.Name), strings.ReplaceAll(cmd.Short, "|", "\\|"))
			}
		}
		fmt.Fprintf(&index, "\n## [%s](%s)\n\n| command | |\n|--|--|\n%s", g.Title, path, &rows)
	}
	return append([]ManualPage{{"commands.md", index.String()}}, pages...)
}

// introduction says in short what a command does, its other names, and what it needs.
func introduction(cmd *shell.Command) string {
	text := shell.UpperFirst(cmd.Short) + "."
	if len(cmd.Aliases) > 0 {
		text += fmt.Sprintf(" Also `%s`.", strings.Join(cmd.Aliases, "`, `"))
	}
	if need := cmd.Needs.String(); need != "" {
		text += fmt.Sprintf(" It %s.", need)
	}
	return text
}

func writeCommand(b *strings.Builder, full string, cmd *shell.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", full, introduction(cmd))
	if cmd.Run != nil {
		fmt.Fprintf(b, "\n    %s\n", strings.Join(cmd.Usage(full), "\n    "))
	}
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n%s\n", markdownText(cmd.Long))
	}
}

// Roff is hdb-commands(7), the manual page of the commands. date is the day of the commit, 2006-01-02.
func Roff(date, version string) string {
	var b strings.Builder
	b.WriteString(manual.Header("hdb-commands", 7, "commands of the console of hdb", date, version))
	b.WriteString(".SH DESCRIPTION\n" + manual.Text("What may be typed at the prompt of hdb(1), in a file of commands, or behind -ex. `help` shows the same in the console."))
	table := commandTable(nil)
	for _, g := range shell.Chapters() {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(manual.Escape(g.Title)))
		table.EachOf(g.Group, func(full string, cmd *shell.Command) {
			fmt.Fprintf(&b, ".SS %s\n%s", manual.Escape(full), manual.Text(introduction(cmd)))
			if cmd.Run != nil {
				b.WriteString(manual.Text("  " + strings.Join(cmd.Usage(full), "\n  ")))
			}
			if cmd.Long != "" {
				b.WriteString(".PP\n" + manual.Text(cmd.Long))
			}
		})
	}
	for _, t := range table.Topics {
		fmt.Fprintf(&b, ".SH %s\n%s", strings.ToUpper(manual.Escape(t.Name)), manual.Text(t.Text))
	}
	b.WriteString(".SH SETTINGS\n")
	for _, s := range settingTable(nil) {
		fmt.Fprintf(&b, ".SS %s\n%s", manual.Escape(s.Name), manual.Text(settingHelp(s)))
	}
	b.WriteString(".SH SEE ALSO\nhdb(1)\n")
	return b.String()
}

func vocabularyPage() string {
	var b strings.Builder
	b.WriteString("\n| gdb | hdb |\n|--|--|\n")
	for _, v := range vocabulary() {
		fmt.Fprintf(&b, "| %s | %s |\n", v.word, strings.ReplaceAll(v.has, "|", "\\|"))
	}
	return b.String()
}

func settingsPage() string {
	var b strings.Builder
	b.WriteString("\n`set NAME VALUE` changes a setting, `show NAME` shows it, `config -save` keeps them for later sessions.\n\n| Setting | Default | Meaning |\n|--|--|--|\n")
	for _, s := range settingTable(nil) {
		def := s.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, def, settingHelp(s))
	}
	return b.String()
}

// settingHelp is the meaning of a setting, with its values if they are words.
func settingHelp(s *shell.Setting) string {
	if len(s.Values) == 0 {
		return s.Help
	}
	return s.Help + " (" + strings.Join(s.Values, ", ") + ")"
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
