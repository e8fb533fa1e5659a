package console

import (
	"fmt"
	"strings"

	"hdb/console/shell"
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

func writeCommand(b *strings.Builder, full string, cmd *shell.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.", full, shell.UpperFirst(cmd.Short))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, " Also `%s`.", strings.Join(cmd.Aliases, "`, `"))
	}
	if need := cmd.Needs.String(); need != "" {
		fmt.Fprintf(b, " It %s.", need)
	}
	b.WriteString("\n")
	if cmd.Run != nil {
		fmt.Fprintf(b, "\n    %s\n", strings.Join(cmd.Usage(full), "\n    "))
	}
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n%s\n", markdownText(cmd.Long))
	}
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
