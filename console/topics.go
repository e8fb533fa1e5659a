package console

import (
	"fmt"
	"slices"
	"strings"

	"hdb/console/shell"
	"hdb/internal/cond"
)

// topics are the chapters of the help that are no commands.
func topics() []shell.Topic {
	return []shell.Topic{
		{Name: "conditions", Short: "what can be asked after `if`", Text: conditionsText()},
		{Name: "variables", Short: "the names that begin with $", Text: variablesText()},
	}
}

// conditionExamples are held to the parser by a test.
var conditionExamples = []string{
	`size >= 1MiB && thread == 3`,
	`size > 64k && (func("parse") || module("libfoo"))`,
	`kind == realloc && !caller("Buffer::grow")`,
	`thread == "loader" && live > 1GiB`,
	`func("std::vector<*") && size != 0`,
	`#4711`,
}

// programExamples ask for variables of a program.
var programExamples = []string{
	`n == 50 && thread == 1`,
	`size >= 1k && req->user.id == 7`,
}

// variablesText explains what stands behind $ in expressions.
func variablesText() string {
	return "`set $NAME = EXPRESSION` makes a variable of the debugger's. It keeps a copy of the value, of any type, until hdb ends, and changes nothing in the program. Before that it is void, which is false and no number. ++, -- and += work, too. The names of registers, as $rip, $pc or $xmm0, are the registers of the selected frame; a misspelt one is a void variable. `show convenience` lists the variables.\n\n" +
		"$, $$ and $N are values that print has shown: the last one, the one before it, and the one numbered N.\n\n" +
		"The debugger sets:" +
		"\n  $_           the address that x has shown last" +
		"\n  $__          what was there" +
		"\n  $bpnum       number of the stop that was made last" +
		"\n  $_pid        process ID of the program that runs under hdb, 0 without one" +
		"\n  $_thread     number of the selected thread, at a recorded event the event's thread; 0 without one" +
		"\n  $_exitcode   exit code of the last program that ended, void before, and after one that a signal killed" +
		"\n  $_exitsignal number of the signal that killed it, or void" +
		"\n  $_exception  object that is thrown or caught, at a stop of catch throw or catch catch; void elsewhere" +
		"\n  $_siginfo    siginfo_t of the signal that the selected thread stopped at, as $_siginfo._sifields._sigfault.si_addr" +
		"\n  $size $addr $old $event\n               of the allocation that is stopped at, or selected in a capture\n\n" +
		"In a frame of Go an expression that begins with $ is one of C, and any other one is Go's, which has no such variables."
}

// conditionsText explains the language of conditions, in the shape of a
// command's Long: paragraphs and indented blocks.
func conditionsText() string {
	var names strings.Builder
	for _, f := range cond.Fields() {
		fmt.Fprintf(&names, "\n  %-10s %s", strings.TrimSuffix(f.Name, "("), f.Help)
	}
	return "A condition stands after `if` in break, tbreak, condition, next-alloc, next-free, allocs and live. It compares numbers of an event and asks for names; `break PLACE if` knows those that need no allocation.\n\n" +
		"At the stops of a process, all else in a condition is of the program: any expression that print takes, as n == 50, req->user->id == 7 or $rdi != 0, read in the frame that the stop was set for, at an allocation in that of the function which the block belongs to. size alone is the allocation's size; $size is that too, within an expression as well: $size == size + 16. A variable of such a name is meant in parentheses, (size) > 3, or where conditions have no such word. At a place in the code a variable without a value stops the program, with the reason; at allocations the condition does not hold there, and `info breakpoints` counts them.\n\n" +
		"Names:" + names.String() + "\n\n" +
		"Operators, those that bind closest first: == != < <= > >=, ! for not, && for and, || for or; parentheses group.\n\n" +
		"Numbers are 4096, 0x1000, 1_000_000, and sizes: k, M, G, T and KiB, MiB, GiB, TiB are powers of 1024, kB, MB, GB, TB powers of 1000. 1.5MiB is a size too. In the counts thread, nth, blocks, count and goroutine, k, M, G and T are powers of 1000: blocks > 20k means 20,000.\n\n" +
		"No comparison holds with a number that an event has not got, as the count of malloc, or that is not known, as the size of a freed block that was made before hdb followed the allocator. ! does not make it hold, either.\n\n" +
		"caller(\"f\") looks at one frame, that of the function which the block belongs to, as allocs and top show it: the innermost one of the user's own code, inlined calls included. Allocators, wrappers (`show wrappers`) and libraries (`show library-frames`) are passed over: for a std::vector it is the function that has the vector. " +
		"func(\"f\") looks at every frame of the stack, main too. module(\"libfoo\") asks for a frame of a program or library: libfoo, libfoo.so and libfoo.so.1 are all names of libfoo.so.1, and _json is one of _json.cpython-311-x86_64-linux-gnu.so: what stands before the first dot. The beginning of a name is not enough, but for a * behind it. " +
		"A name that nothing has which is loaded is warned of.\n\n" +
		"kind is the function that the program called, as the event shows it: malloc called by operator new is operator new's work, and no event of its own. `break malloc` stops there, too.\n\n" +
		"live and blocks count the blocks that were allocated while all allocator calls were followed: by a recording, or because a condition asks for live or blocks. One that is set before `run` counts all. " +
		"Where calls went by before, or in between, a warning says how the numbers may be wrong, and so does `info breakpoints`.\n\n" +
		"The name of a function is the one that bt shows, with or without its parameters and its namespaces, or the linker's. A template's is that of all its instances. * in a name stands for any text, and nothing else is special in it.\n\n" +
		"Examples:\n  " + strings.Join(slices.Concat(conditionExamples, programExamples), "\n  ")
}
