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
		{Name: "conditions", Short: "what `if` can test", Text: conditionsText()},
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

// variablesText explains what is behind $ in expressions.
func variablesText() string {
	return "`set $NAME = EXPRESSION` sets a variable of hdb. It keeps a copy of the value, of any type, until hdb ends, and changes nothing in the program. A variable that was never set is void, which is false and not a number. ++, -- and += work, too. Register names, such as $rip, $pc or $xmm0, are the registers of the selected frame; a misspelt one is a void variable. `show convenience` lists the variables.\n\n" +
		"$, $$ and $N are values that print has shown: the last one, the one before it, and the one with number N.\n\n" +
		"hdb sets:" +
		"\n  $_           the last address that x showed" +
		"\n  $__          the value at that address" +
		"\n  $bpnum       number of the last stop that was set" +
		"\n  $_pid        process ID of the program that runs under hdb, 0 without one" +
		"\n  $_thread     number of the selected thread, at a recorded event the event's thread; 0 if there is none" +
		"\n  $_exitcode   exit code of the last program that ended; void before that, and if a signal killed it" +
		"\n  $_exitsignal number of the signal that killed it, or void" +
		"\n  $_exception  object that is thrown or caught, at a stop of catch throw or catch catch; void elsewhere; what() of the C++ library's own exceptions is shown also without their debug information" +
		"\n  $_siginfo    siginfo_t of the signal that the selected thread stopped at, as $_siginfo._sifields._sigfault.si_addr" +
		"\n  $size $addr $old $event\n               size, address, old address and event number of the allocation at which the program is stopped, or that is selected in a capture\n\n" +
		"In a Go frame, an expression that begins with $ is a C expression; any other is a Go expression, which cannot use these variables."
}

// conditionsText explains the language of conditions, in the shape of a
// command's Long: paragraphs and indented blocks.
func conditionsText() string {
	var names strings.Builder
	for _, f := range cond.Fields() {
		fmt.Fprintf(&names, "\n  %-10s %s", strings.TrimSuffix(f.Name, "("), f.Help)
	}
	return "break, tbreak, next-alloc, next-free, allocs and live take a condition after `if`, and `condition N` takes one without it. It compares numbers of an event and tests names; `break PLACE if` accepts only those terms listed below that are not about an allocation.\n\n" +
		"At the stops of a process, everything else in a condition is an expression of the program, as for print: n == 50, req->user->id == 7 or $rdi != 0. It is read in the frame that the stop was set for; at an allocation, in the frame of the function that the block belongs to. size alone is the allocation's size; $size is the same, and also works inside an expression: $size == size + 16. If a program variable has the same name as one of the names below, write it in parentheses, (size) > 3. If a variable has no value, a stop at a place in the code stops the program and says why; at allocations the condition does not hold, and `info breakpoints` counts these events.\n\n" +
		"Names:" + names.String() + "\n\n" +
		"Operators, in order of precedence: == != < <= > >=, ! for not, && for and, || for or; parentheses group.\n\n" +
		"Numbers are 4096, 0x1000, 1_000_000, and sizes: k, M, G, T and KiB, MiB, GiB, TiB are powers of 1024, kB, MB, GB, TB powers of 1000. 1.5MiB is a size too. For counts (thread, nth, blocks, count, goroutine), k, M, G and T are powers of 1000: blocks > 20k means 20,000.\n\n" +
		"If the event lacks the number (malloc has no count), or its value is unknown (the size of a freed block allocated before hdb followed the allocator), the comparison does not hold, and neither does its negation with !.\n\n" +
		"caller(\"f\") tests one frame, the function that the block belongs to, as allocs and top show it: the innermost one of the user's own code, inlined calls included. Allocators, wrappers (`show wrappers`) and libraries (`show library-frames`) are passed over: for a std::vector it is the function that uses the vector. " +
		"func(\"f\") tests every frame of the stack, main too. module(\"libfoo\") tests for a frame in a program or library: libfoo, libfoo.so and libfoo.so.1 all match libfoo.so.1, and _json, the part before the first dot, matches _json.cpython-311-x86_64-linux-gnu.so. For any other prefix of a name use *, as in module(\"libf*\"). " +
		"hdb warns if no loaded file has the name.\n\n" +
		"kind is the function that the program called, as the event shows it: a malloc called by operator new is part of operator new's event, not an event of its own. `break malloc` also stops at such inner calls; a recording has only the outer function's name.\n\n" +
		"live and blocks count the blocks that were allocated while all allocator calls were followed: by a recording, or because a condition uses live or blocks. A condition that is set before `run` counts all blocks. " +
		"If calls were missed before or in between, a warning and `info breakpoints` say how the numbers may be wrong.\n\n" +
		"The name of a function is the one that bt shows, with or without its parameters and its namespaces, or its linkage name. A template's name matches all its instances. * in a name matches any text; no other character is special.\n\n" +
		"Examples:\n  " + strings.Join(slices.Concat(conditionExamples, programExamples), "\n  ")
}
