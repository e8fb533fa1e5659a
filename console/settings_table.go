package console

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/query"
	"hdb/session/target"
)

// settingTable is every setting, by name. Those with get live in the session.
func settingTable(c *Console) []*setting {
	return []*setting{
		{name: "args", unsaid: true, help: "arguments and redirections of the next run, as typed",
			get:   func() string { return c.s.Settings.Args },
			apply: func(v string) error { c.s.Settings.Args = v; return nil }},
		{name: "backtrace past-main", kind: kindBool, def: "off", help: "bt, up and frame go on to the callers of the program's main function; recordings have them in any case",
			get:   func() string { return onOff(c.s.Settings.PastMain) },
			apply: func(v string) error { c.s.Selection.ShowPastMain(v == "on"); return nil }},
		{name: "backtrace limit", kind: kindCount, def: "100", help: "frames that bt prints unless told otherwise; 0 is all"},
		{name: "can-use-hw-watchpoints", kind: kindEnum, values: []string{"0", "1"}, def: "1", help: "whether memory is watched by debug registers, where they stop threads; 0 is by single steps, some 20 µs an instruction. It holds for watchpoints that are set or enabled from then on",
			get: func() string {
				if c.s.Settings.NoWatchRegisters {
					return "0"
				}
				return "1"
			},
			apply: func(v string) error { c.s.Settings.NoWatchRegisters = v == "0"; return nil }},
		{name: "confirm", kind: kindBool, def: "on", help: "ask before something is lost; without a terminal, and in scripts, the question is printed and answered with yes"},
		{name: "cwd", kind: kindFile, unsaid: true, help: "working directory of the next run; empty is hdb's own",
			get:   func() string { return c.s.Settings.Dir },
			apply: func(v string) error { c.s.Settings.Dir = v; return nil }},
		{name: "cython-debug", kind: kindFile, help: "where what cython --gdb has written is looked for first, colon between directories",
			get: func() string { return strings.Join(c.s.Settings.Cython, ":") },
			apply: func(v string) error {
				c.s.Settings.Cython = splitPath(v)
				c.s.Cython.Forget()
				return nil
			}},
		{name: "debug-file-directory", kind: kindFile, def: "/usr/lib/debug", help: "where separate debug files are looked for, colon between directories",
			get:   func() string { return strings.Join(c.s.Settings.DebugDirs, ":") },
			apply: func(v string) error { c.s.Settings.DebugDirs = splitPath(v); return nil }},
		{name: "debuginfod", kind: kindEnum, values: []string{"off", "on", "ask"}, def: "off", help: "ask the servers of DEBUGINFOD_URLS for debug files and sources; at a terminal with such servers it begins as ask: a question when the first file is missing",
			get:   func() string { return string(c.s.Names().Debuginfod.Mode()) },
			apply: func(v string) error { return setDebuginfod(c, v) }},
		{name: "detach-on-fork", kind: kindBool, def: "on", help: "let the side of a fork that is not followed run free; off holds it",
			get:   func() string { return onOff(!c.s.Settings.KeepForks) },
			apply: func(v string) error { c.s.Settings.KeepForks = v == "off"; c.s.ApplySettings(); return nil }},
		{name: "directories", kind: kindFile, help: "where sources are looked for, colon between directories",
			get: func() string { return strings.Join(c.s.Names().Sources.Dirs, ":") },
			apply: func(v string) error {
				setSources(c, c.s.Names().Sources.Substitute, splitPath(v))
				return nil
			}},
		{name: "disable-randomization", kind: kindBool, def: "on", help: "the same addresses in each run (no ASLR)",
			get:   func() string { return onOff(!c.s.Settings.KeepASLR) },
			apply: func(v string) error { c.s.Settings.KeepASLR = v == "off"; return nil }},
		{name: "environment", unsaid: true, help: "NAME=VALUE for the next run; `unset environment NAME` takes one out",
			get: c.showEnvironment, apply: c.setEnvironment, unset: c.unsetEnvironment},
		{name: "follow-fork-mode", kind: kindEnum, values: []string{"parent", "child"}, def: "parent", help: "which side of a fork stays under the debugger",
			get: func() string {
				if c.s.Settings.FollowChild {
					return "child"
				}
				return "parent"
			},
			apply: func(v string) error {
				c.s.Settings.FollowChild = v == "child"
				c.s.ApplySettings()
				return nil
			}},
		{name: "go-wrappers", kind: kindBool, def: "off", help: "bt shows functions that Go's compiler and runtime put between others"},
		{name: "height", kind: kindCount, def: "0", help: "lines of the terminal, for paging; 0 asks the terminal"},
		{name: "history save", kind: kindBool, def: "on", help: "keep the typed lines for the next time"},
		{name: "history size", kind: kindCount, def: "1000", help: "typed lines kept",
			apply: func(v string) error {
				n, _ := strconv.Atoi(v)
				c.hist.SetLimit(n)
				return nil
			}},
		{name: "inferior-tty", kind: kindFile, unsaid: true, help: "terminal of the next run; empty is hdb's own",
			get:   func() string { return c.s.Settings.TTY },
			apply: func(v string) error { c.s.Settings.TTY = v; return nil }},
		{name: "kill-on-exit", kind: kindBool, def: "on", help: "a program that hdb started dies with hdb; off lets it go on, however hdb ends",
			get:   func() string { return onOff(!c.s.Settings.Outlive) },
			apply: func(v string) error { c.s.Settings.Outlive = v == "off"; c.s.ApplySettings(); return nil }},
		{name: "library-frames", def: query.DefaultLibraries, help: "regular expression: frames of libraries, by the function (in Rust ::core::fmt::write), its source file or the file of its module: no block belongs to them while there is a frame of the user's own code",
			get:   func() string { return expression(c.s.Settings.Libraries) },
			apply: func(v string) error { return c.setExpression(&c.s.Settings.Libraries, v) }},
		{name: "listsize", kind: kindCount, def: "10", help: "lines that list shows"},
		{name: "pagination", kind: kindBool, def: "on", help: "stop after each screenful of a long output, or send it through $PAGER if that is set (only at a terminal)"},
		{name: "print array", kind: kindBool, def: "off", help: "show each element of an array on a line of its own"},
		{name: "print demangle", kind: kindBool, def: "on", help: "call functions of C++ and Rust by their names in the source in bt, frame, allocs and top; off takes the linker's",
			apply: func(v string) error { c.out.Names.Linkage = v == "off"; return nil }},
		{name: "print elements", kind: kindCount, def: "200", help: "elements of arrays, strings and containers that are shown; 0 is all"},
		{name: "python-frames", kind: kindEnum, values: []string{"merged", "native", "both"}, def: "merged", help: "what bt shows of a program in CPython: its functions in place of the interpreter's own, native frames alone, or both",
			apply: func(v string) error {
				c.s.Settings.Python = pythonFrames[v]
				c.s.Cython.Forget()
				return nil
			}},
		{name: "print frame-arguments", kind: kindEnum, values: []string{"scalars", "all", "presence", "none"}, def: "scalars", help: "arguments of functions in bt and the reports of stops: numbers and pointers, all of them, ... where there are any, or the types of parameters"},
		{name: "print max-depth", kind: kindCount, def: "20", help: "structs in structs and arrays in arrays that are shown; {...} stands for deeper ones; unlimited is 0"},
		{name: "print paths", kind: kindEnum, values: []string{"short", "full"}, def: "short", help: "files in tables and stacks that do not fit the terminal: their last parts, or their paths",
			apply: func(v string) error { c.out.Names.Paths = v == "full"; return nil }},
		{name: "print pretty", kind: kindSwitch, def: "auto", help: "show each member of a struct on a line of its own; auto does so at a terminal when the value is longer than a line"},
		{name: "print repeats", kind: kindCount, def: "10", help: "longer runs of equal elements are shown once with their length; 0 is never"},
		{name: "print sizes", kind: kindEnum, values: []string{"units", "raw"}, def: "units", help: "sizes in text: 64.8 MiB, or their bytes; JSON always has bytes",
			apply: func(v string) error { c.out.Sizes.Raw = v == "raw"; return nil }},
		{name: "print static-members", kind: kindBool, def: "on", help: "show static members of classes"},
		{name: "print symbol", kind: kindBool, def: "on", help: "show the symbols that pointers to data point to"},
		{name: "print templates", kind: kindEnum, values: []string{"short", "full"}, def: "short", help: "template arguments of names longer than 100 characters, and type arguments of Go: <...> and [...], or in full, as bt -full and info symbol have them",
			apply: func(v string) error { c.out.Names.Whole = v == "full"; return nil }},
		{name: "print object", kind: kindBool, def: "off", help: "show objects and pointers as the class that the virtual table tells"},
		{name: "print union", kind: kindBool, def: "on", help: "show unions in structs; off has {...} for them"},
		{name: "python-allocators", kind: kindBool, def: "off", help: "follow CPython's own allocators, too: PyObject_Malloc and the like, whose arenas hide blocks of up to 512 bytes",
			get:   func() string { return onOff(c.s.Settings.PythonAllocators) },
			apply: func(v string) error { c.s.Settings.PythonAllocators = v == "on"; return c.s.Planes.Apply() }},
		{name: "wrong-frees", kind: kindEnum, values: []string{"stop", "report", "off"}, def: "stop", help: "while events are recorded, or followed by plain breakpoints: stop before a call runs that gives back what is no block, say it in a line, or do not look",
			get: func() string { return string(c.s.Settings.WrongFrees) },
			apply: func(v string) error {
				c.s.Settings.WrongFrees = target.WrongFreeMode(v)
				return c.s.Planes.Apply()
			}},
		{name: "probe", kind: kindEnum, values: []string{"auto", "on", "off"}, def: "auto", help: "follow allocators by code inside the process; auto falls back to plain breakpoints, off wants them",
			get: func() string { return string(c.s.Settings.Probe) },
			apply: func(v string) error {
				c.s.Settings.Probe = target.ProbeMode(v)
				return c.s.Planes.Apply()
			}},
		{name: "probe max-depth", kind: kindCount, def: "2048", help: "frames of a recorded stack, at most 4095 inside the process",
			get: func() string { return strconv.Itoa(c.s.Settings.MaxDepth) },
			apply: func(v string) error {
				n, _ := strconv.Atoi(v)
				if n == 0 {
					return errors.New("at least 1")
				}
				c.s.Settings.MaxDepth = n
				return c.s.Planes.Apply()
			}},
		{name: "log", kind: kindBool, def: "on", help: "keep what is typed and printed, for the captures that save writes; off forgets what there is",
			get:   func() string { return onOff(c.s.ConsoleLog.Keeps()) },
			apply: func(v string) error { c.s.ConsoleLog.Keep(v == "on"); return nil }},
		{name: "logging enabled", kind: kindBool, unsaid: true, help: "copy what is typed and printed to the logging file, too; `set logging on` and `off` are short for it",
			get:   func() string { return onOff(c.logging.on()) },
			apply: func(v string) error { return c.setLogging(v == "on") }},
		{name: "logging file", kind: kindFile, def: "hdb.txt", unsaid: true, help: "the file that output is copied to, from the next time that logging is enabled on",
			apply: func(v string) error {
				if v == "" {
					return errors.New("a name must follow")
				}
				return nil
			}},
		{name: "logging overwrite", kind: kindBool, def: "off", unsaid: true, help: "logging overwrites what the file holds, rather than to append to it"},
		{name: "logging", kind: kindBool, unsaid: true, help: "logging enabled",
			get:   func() string { return onOff(c.logging.on()) },
			apply: func(v string) error { return c.setLogging(v == "on") }},
		{name: "prompt", def: "(hdb) ", help: "what stands before a typed line; quotes keep a blank at its end"},
		{name: "scheduler-locking", kind: kindEnum, values: []string{"off", "on", "step", "replay"}, def: "off", help: "which threads run when the program goes on: off is all; on the selected one alone, while the others and those that it starts stay stopped; step does so during step, next, stepi and nexti; replay is as off. A thread that then waits for another one waits until Ctrl-C",
			get:   func() string { return string(c.s.Settings.Locking) },
			apply: func(v string) error { c.s.Settings.Locking = target.Locking(v); return nil }},
		{name: "step-mode", kind: kindBool, def: "off", help: "step stops in functions without line information too",
			get:   func() string { return onOff(c.s.Settings.StepIntoBare) },
			apply: func(v string) error { c.s.Settings.StepIntoBare = v == "on"; return nil }},
		{name: "stop-lines", kind: kindCount, def: "4", help: "source lines in the report of a stop"},
		{name: "style", kind: kindEnum, values: []string{"light", "dark", "off"}, def: "light", help: "colours, for a light or dark background; NO_COLOR and TERM=dumb turn them off too"},
		{name: "substitute-path", unsaid: false, help: "FROM TO: sources under FROM are looked for under TO",
			get: c.showSubstitutes, apply: c.setSubstitute, unset: c.unsetSubstitute},
		{name: "sysroot", kind: kindFile, help: "directory that stands for / when files of the inferior are read",
			get:   func() string { return c.s.Settings.Sysroot },
			apply: func(v string) error { c.s.Settings.Sysroot = v; return nil }},
		{name: "system-calls", kind: kindBool, def: "off", help: "follow mmap, munmap, mremap, mprotect and brk that the program calls without libc's functions, too; each system call of it then costs two stops",
			get:   func() string { return onOff(c.s.Settings.SystemCalls) },
			apply: func(v string) error { c.s.Settings.SystemCalls = v == "on"; return c.s.Planes.Apply() }},
		{name: "tab-width", kind: kindCount, def: "8", help: "columns of a tab in source lines"},
		{name: "wrappers", def: query.DefaultWrappers, help: "regular expression: functions that only allocate for their callers: no block belongs to them, but to the caller",
			get:   func() string { return expression(c.s.Settings.Wrappers) },
			apply: func(v string) error { return c.setExpression(&c.s.Settings.Wrappers, v) }},
		{name: "width", kind: kindCount, def: "0", help: "columns of the terminal; 0 asks the terminal, then COLUMNS"},
	}
}

func expression(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}

// setExpression changes a setting that decides which function a block belongs to.
func (c *Console) setExpression(setting **regexp.Regexp, v string) error {
	var re *regexp.Regexp
	if v != "" {
		var err error
		if re, err = regexp.Compile(v); err != nil {
			return err
		}
	}
	*setting = re
	return c.s.ApplyAttribution()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// splitPath splits a list of directories; "$cwd" and "$cdir" of gdb's habit are
// what hdb does anyway.
func splitPath(v string) []string {
	var dirs []string
	for d := range strings.SplitSeq(v, ":") {
		if d != "" && d != "$cwd" && d != "$cdir" {
			dirs = append(dirs, line.ExpandHome(d))
		}
	}
	return dirs
}

func (c *Console) showEnvironment() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.s.Settings.Env)) {
		parts = append(parts, name+"="+c.s.Settings.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.s.Settings.UnsetEnv)) {
		parts = append(parts, "no "+name)
	}
	return strings.Join(parts, " ")
}

// setEnvironment takes gdb's forms NAME=VALUE, NAME = VALUE and NAME VALUE.
func (c *Console) setEnvironment(v string) error {
	name, value := splitWord(v)
	if before, after, ok := strings.Cut(v, "="); ok && !strings.ContainsAny(strings.TrimSpace(before), " \t") {
		name, value = strings.TrimSpace(before), strings.TrimSpace(after)
	}
	if name == "" {
		return errors.New("NAME=VALUE expected")
	}
	delete(c.s.Settings.UnsetEnv, name)
	c.s.Settings.Env[name] = value
	return nil
}

func (c *Console) showSubstitutes() string {
	var parts []string
	for _, s := range c.s.Names().Sources.Substitute {
		parts = append(parts, quoteIfNeeded(s[0])+" "+quoteIfNeeded(s[1]))
	}
	return strings.Join(parts, ", ")
}

func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"'\\,") {
		return quoteArg(s)
	}
	return s
}

// setSubstitute adds a rule, or replaces the one for the same FROM. It reads
// what showSubstitutes prints, too.
func (c *Console) setSubstitute(v string) error {
	args, err := splitArgs(v)
	if err != nil {
		return err
	}
	if len(args) == 0 || len(args)%2 != 0 {
		return errors.New("FROM TO expected")
	}
	rules := slices.Clone(c.s.Names().Sources.Substitute)
	for i := 0; i < len(args); i += 2 {
		rule := [2]string{args[i], strings.TrimSuffix(args[i+1], ",")}
		j := slices.IndexFunc(rules, func(r [2]string) bool { return r[0] == rule[0] })
		if j >= 0 {
			rules[j] = rule
		} else {
			rules = append(rules, rule)
		}
	}
	setSources(c, rules, c.s.Names().Sources.Dirs)
	return nil
}

// setSources makes the rules anew, so that files found by the old ones are
// looked for again.
func setSources(c *Console, rules [][2]string, dirs []string) {
	c.s.Names().Sources.Search(rules, dirs)
	c.s.Cython.Forget() // generated C is a source, too
}

// unsetEnvironment takes a variable out for the next run.
func (c *Console) unsetEnvironment(name string) error {
	if name == "" {
		return errors.New("unset environment: NAME expected")
	}
	delete(c.s.Settings.Env, name)
	c.s.Settings.UnsetEnv[name] = true
	return nil
}

// unsetSubstitute takes out the rule for a directory, all of them for "".
func (c *Console) unsetSubstitute(from string) error {
	old := c.s.Names().Sources.Substitute
	rules := slices.DeleteFunc(slices.Clone(old), func(r [2]string) bool { return from == "" || r[0] == from })
	if from != "" && len(rules) == len(old) {
		return fmt.Errorf("substitute-path: no rule for %q", from)
	}
	setSources(c, rules, c.s.Names().Sources.Dirs)
	return nil
}
