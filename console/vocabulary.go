package console

import (
	"strings"

	"hdb/console/shell"
)

// gdbWords are the words of gdb's everyday chapters (Running, Stopping, Stack, Source, Data,
// Altering, Files), for the table of what hdb does for each.
var gdbWords = strings.Split(`run start starti attach detach kill|set.args set.environment unset.environment set.cwd cd pwd
info.inferiors inferior info.threads thread thread.apply taas tfaas|checkpoint
break tbreak hbreak thbreak rbreak|watch rwatch awatch|catch tcatch|delete clear enable disable condition ignore commands|dprintf save.breakpoints
continue step next stepi nexti finish until advance|interrupt|skip info.skip|handle info.signals signal queue-signal
reverse-continue reverse-step reverse-next reverse-stepi reverse-finish
backtrace where frame up down|frame.apply faas|info.frame info.args info.locals
list edit search reverse-search directory info.line info.source info.sources
print call output printf echo x display undisplay|info.display info.registers info.all-registers info.vector info.float
ptype whatis explore|info.scope info.symbol info.address info.types info.functions info.variables info.macro info.macros macro.expand macro.define|info.auxv info.os info.proc info.files info.program
find dump restore compare-sections|set.var set.print|info.vtbl info.watchpoints info.breakpoints info.sharedlibrary info.checkpoints
jump return compile
core-file generate-core-file gcore file exec-file symbol-file add-symbol-file
define document source if while loop_break|alias with pipe shell|set.logging history|tui layout focus refresh|python guile`, "\n")

// A vocable is a word of gdb's with what hdb has for it.
type vocable struct{ word, has string }

// vocabulary lists gdb's everyday words. Words that hdb has not got have a reason in unbuilt.
func vocabulary() []vocable {
	table := commandTable(nil)
	var all []vocable
	for _, line := range gdbWords {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '|' }) {
			word = strings.ReplaceAll(word, ".", " ")
			all = append(all, vocable{word, meaning(table, word)})
		}
	}
	return all
}

// meaning says what hdb does for a word, "" if it does not know it.
func meaning(table *shell.Table, word string) string {
	if err := notBuilt(word); err != nil {
		return "none; " + strings.TrimPrefix(err.Error(), word+": ")
	}
	cmd, rest, name, err := table.Resolve(word)
	if err != nil {
		return ""
	}
	if rest != "" {
		return "`" + name + " " + rest + "`" // a word of its own, as in set print
	}
	return "`" + name + "`: " + cmd.Short
}
