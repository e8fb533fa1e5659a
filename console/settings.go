package console

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/py"
	"hdb/console/shell"
	"hdb/query"
	"hdb/session/target"
)

// settingTable is every setting, by name. Those with get live in the session.
func settingTable(c *desk.Desk) []*shell.Setting {
	return []*shell.Setting{
		{Name: "args", Unsaid: true, Help: "arguments and redirections of the next run, as typed",
			Get:   func() string { return c.Session.Settings.Args },
			Apply: func(v string) error { c.Session.Settings.Args = v; return nil }},
		{Name: "backtrace past-main", Kind: shell.KindBool, Default: "off", Help: "bt, up and frame also show the callers of the program's main function; recordings always contain these frames",
			Get:   func() string { return onOff(c.Session.Settings.PastMain) },
			Apply: func(v string) error { c.Session.Selection.ShowPastMain(v == "on"); return nil }},
		{Name: "backtrace limit", Kind: shell.KindCount, Default: "100", Help: "frames that bt prints by default; 0 is all"},
		{Name: "can-use-hw-watchpoints", Kind: shell.KindEnum, Values: []string{"0", "1"}, Default: "1", Help: "1 watches memory with debug registers if they can stop threads on this machine; 0 uses single steps, some 20 µs an instruction. It applies to watchpoints that are set or enabled afterwards",
			Get: func() string {
				if c.Session.Settings.NoWatchRegisters {
					return "0"
				}
				return "1"
			},
			Apply: func(v string) error { c.Session.Settings.NoWatchRegisters = v == "0"; return nil }},
		{Name: "confirm", Kind: shell.KindBool, Default: "on", Help: "ask before something is lost; without a terminal, and in scripts, the question is printed and answered with yes"},
		{Name: "cwd", Kind: shell.KindFile, Unsaid: true, Help: "working directory of the next run; empty is hdb's own",
			Get:   func() string { return c.Session.Settings.Dir },
			Apply: func(v string) error { c.Session.Settings.Dir = v; return nil }},
		{Name: "cython-debug", Kind: shell.KindFile, Help: "directories in which the output of cython --gdb is searched for first, separated by colons",
			Get: func() string { return strings.Join(c.Session.Settings.Cython, ":") },
			Apply: func(v string) error {
				c.Session.Settings.Cython = desk.SplitPath(v)
				c.Session.Cython.Forget()
				return nil
			}},
		{Name: "debug-file-directory", Kind: shell.KindFile, Default: "/usr/lib/debug", Help: "directories in which separate debug files are searched for, separated by colons",
			Get:   func() string { return strings.Join(c.Session.Settings.DebugDirs, ":") },
			Apply: func(v string) error { c.Session.Settings.DebugDirs = desk.SplitPath(v); return nil }},
		{Name: "debuginfod", Kind: shell.KindEnum, Values: []string{"off", "on", "ask"}, Default: "off", Help: "ask the servers of DEBUGINFOD_URLS for debug files and sources; at a terminal, if DEBUGINFOD_URLS is set, the default is ask: hdb asks you when the first file is missing",
			Get:   func() string { return string(c.Session.Names().Debuginfod.Mode()) },
			Apply: func(v string) error { return data.SetDebuginfod(c, v) }},
		{Name: "detach-on-fork", Kind: shell.KindBool, Default: "on", Help: "let the side of a fork that is not followed run without hdb; off holds it",
			Get:   func() string { return onOff(!c.Session.Settings.KeepForks) },
			Apply: func(v string) error { c.Session.Settings.KeepForks = v == "off"; c.Session.ApplySettings(); return nil }},
		{Name: "directories", Kind: shell.KindFile, Help: "directories in which sources are searched for, separated by colons",
			Get: func() string { return strings.Join(c.Session.Names().Sources.Dirs, ":") },
			Apply: func(v string) error {
				desk.SetSources(c, c.Session.Names().Sources.Substitute, desk.SplitPath(v))
				return nil
			}},
		{Name: "disable-randomization", Kind: shell.KindBool, Default: "on", Help: "the same addresses in each run (no ASLR)",
			Get:   func() string { return onOff(!c.Session.Settings.KeepASLR) },
			Apply: func(v string) error { c.Session.Settings.KeepASLR = v == "off"; return nil }},
		{Name: "environment", Unsaid: true, Help: "NAME=VALUE for the next run; `unset environment NAME` removes one",
			Get: func() string { return showEnvironment(c) }, Apply: func(v string) error { return setEnvironment(c, v) }, Unset: func(part string) error { return unsetEnvironment(c, part) }},
		{Name: "fold", Kind: shell.KindBool, Default: "on", Help: "hide the frames of a block's stack that are not the program's: allocators and libraries that it calls, threads, runtimes and test frameworks that call it, and libraries between; bt shows all"},
		{Name: "follow-fork-mode", Kind: shell.KindEnum, Values: []string{"parent", "child"}, Default: "parent", Help: "side of a fork that stays under hdb",
			Get: func() string {
				if c.Session.Settings.FollowChild {
					return "child"
				}
				return "parent"
			},
			Apply: func(v string) error {
				c.Session.Settings.FollowChild = v == "child"
				c.Session.ApplySettings()
				return nil
			}},
		{Name: "go-wrappers", Kind: shell.KindBool, Default: "off", Help: "bt shows functions that Go's compiler and runtime insert"},
		{Name: "height", Kind: shell.KindCount, Default: "0", Help: "lines of the terminal, for paging; 0 is the terminal's own number"},
		{Name: "history save", Kind: shell.KindBool, Default: "on", Help: "keep the typed lines for the next session"},
		{Name: "history size", Kind: shell.KindCount, Default: "1000", Help: "number of typed lines kept",
			Apply: func(v string) error {
				n, _ := strconv.Atoi(v)
				c.Hist.SetLimit(n)
				return nil
			}},
		{Name: "inferior-tty", Kind: shell.KindFile, Unsaid: true, Help: "terminal of the next run; empty is hdb's own",
			Get:   func() string { return c.Session.Settings.TTY },
			Apply: func(v string) error { c.Session.Settings.TTY = v; return nil }},
		{Name: "kill-on-exit", Kind: shell.KindBool, Default: "on", Help: "when hdb ends, kill a program that it started; off lets it run on, however hdb ends",
			Get:   func() string { return onOff(!c.Session.Settings.Outlive) },
			Apply: func(v string) error { c.Session.Settings.Outlive = v == "off"; c.Session.ApplySettings(); return nil }},
		{Name: "library-frames", Default: query.DefaultLibraries, Help: "regular expression for library frames, matched against the function (in Rust ::core::fmt::write), its source file and the file of its module: no block belongs to them if the stack has a frame of the user's own code",
			Get:   func() string { return expression(c.Session.Settings.Libraries) },
			Apply: func(v string) error { return setExpression(c, &c.Session.Settings.Libraries, v) }},
		{Name: "listsize", Kind: shell.KindCount, Default: "10", Help: "lines that list shows"},
		{Name: "pagination", Kind: shell.KindBool, Default: "on", Help: "pause after each screenful of output, or use $PAGER if it is set (only at a terminal)"},
		{Name: "print array", Kind: shell.KindBool, Default: "off", Help: "show each element of an array on a line of its own"},
		{Name: "print demangle", Kind: shell.KindBool, Default: "on", Help: "show C++ and Rust functions by their names in the source in bt, frame, allocs and top; off shows linkage names",
			Apply: func(v string) error { c.Out.Names.Linkage = v == "off"; return nil }},
		{Name: "print elements", Kind: shell.KindCount, Default: "200", Help: "number of elements of arrays, strings and containers that are shown; 0 is all"},
		{Name: "python-frames", Kind: shell.KindEnum, Values: []string{"merged", "native", "both"}, Default: "merged", Help: "frames that bt shows of a CPython program: Python functions in place of the interpreter's own frames, native frames alone, or both",
			Apply: func(v string) error {
				c.Session.Settings.Python = py.PythonFrames[v]
				c.Session.Cython.Forget()
				return nil
			}},
		{Name: "print frame-arguments", Kind: shell.KindEnum, Values: []string{"scalars", "all", "presence", "none"}, Default: "scalars", Help: "arguments that bt and the reports of stops show: scalars: numbers and pointers; all: every argument; presence: ... if there are any; none: only parameter types"},
		{Name: "print max-depth", Kind: shell.KindCount, Default: "20", Help: "levels of nested structs and arrays that are shown; {...} replaces deeper ones; 0 is unlimited"},
		{Name: "print paths", Kind: shell.KindEnum, Values: []string{"short", "full"}, Default: "short", Help: "file names in tables and stacks that do not fit the terminal: the last parts of the path, or all of it",
			Apply: func(v string) error { c.Out.Names.Paths = v == "full"; return nil }},
		{Name: "print pretty", Kind: shell.KindSwitch, Default: "auto", Help: "show each member of a struct on a line of its own; auto does this at a terminal when the value is longer than a line"},
		{Name: "print repeats", Kind: shell.KindCount, Default: "10", Help: "runs of more than this many equal elements are shown once, with their length; 0 shows all"},
		{Name: "print sizes", Kind: shell.KindEnum, Values: []string{"units", "raw"}, Default: "units", Help: "sizes in text: 64.8 MiB, or bytes; JSON always has bytes",
			Apply: func(v string) error { c.Out.Sizes.Raw = v == "raw"; return nil }},
		{Name: "print static-members", Kind: shell.KindBool, Default: "on", Help: "show static members of classes"},
		{Name: "print symbol", Kind: shell.KindBool, Default: "on", Help: "show the symbols that pointers to data point to"},
		{Name: "print templates", Kind: shell.KindEnum, Values: []string{"short", "full"}, Default: "short", Help: "template arguments in names longer than 100 characters, and Go's type arguments: shown as <...> and [...], or in full, as bt -full and info symbol always show them",
			Apply: func(v string) error { c.Out.Names.Whole = v == "full"; return nil }},
		{Name: "print object", Kind: shell.KindBool, Default: "off", Help: "show objects and pointers with the class that their virtual table identifies"},
		{Name: "print union", Kind: shell.KindBool, Default: "on", Help: "show unions in structs; off shows {...} instead"},
		{Name: "python-allocators", Kind: shell.KindBool, Default: "off", Help: "follow CPython's own allocators, too: PyObject_Malloc and the like, whose arenas hide blocks of up to 512 bytes",
			Get:   func() string { return onOff(c.Session.Settings.PythonAllocators) },
			Apply: func(v string) error { c.Session.Settings.PythonAllocators = v == "on"; return c.Session.Planes.Apply() }},
		{Name: "wrong-frees", Kind: shell.KindEnum, Values: []string{"stop", "report", "off"}, Default: "stop", Help: "what hdb does before a wrong free (of something that is not a live block): stop, report a line, or do not check; it checks while events are recorded or plain breakpoints follow them",
			Get: func() string { return string(c.Session.Settings.WrongFrees) },
			Apply: func(v string) error {
				c.Session.Settings.WrongFrees = target.WrongFreeMode(v)
				return c.Session.Planes.Apply()
			}},
		{Name: "probe", Kind: shell.KindEnum, Values: []string{"auto", "on", "off"}, Default: "auto", Help: "follow allocators with code inside the process; auto falls back to plain breakpoints, off always uses them",
			Get: func() string { return string(c.Session.Settings.Probe) },
			Apply: func(v string) error {
				c.Session.Settings.Probe = target.ProbeMode(v)
				return c.Session.Planes.Apply()
			}},
		{Name: "probe max-depth", Kind: shell.KindCount, Default: "2048", Help: "largest number of frames in a recorded stack; at most 4095 for the probe",
			Get: func() string { return strconv.Itoa(c.Session.Settings.MaxDepth) },
			Apply: func(v string) error {
				n, _ := strconv.Atoi(v)
				if n == 0 {
					return errors.New("at least 1")
				}
				c.Session.Settings.MaxDepth = n
				return c.Session.Planes.Apply()
			}},
		{Name: "log", Kind: shell.KindBool, Default: "on", Help: "keep a log of typed lines and output, for the captures that save writes; off deletes it",
			Get:   func() string { return onOff(c.Session.ConsoleLog.Keeps()) },
			Apply: func(v string) error { c.Session.ConsoleLog.Keep(v == "on"); return nil }},
		{Name: "logging enabled", Kind: shell.KindBool, Unsaid: true, Help: "copy typed lines and output to the logging file; `set logging on` and `off` are short for it",
			Get:   func() string { return onOff(c.LoggingOn()) },
			Apply: func(v string) error { return c.SetLogging(v == "on") }},
		{Name: "logging file", Kind: shell.KindFile, Default: "hdb.txt", Unsaid: true, Help: "file that output is copied to, from the next time that logging is enabled",
			Apply: func(v string) error {
				if v == "" {
					return errors.New("a name must follow")
				}
				return nil
			}},
		{Name: "logging overwrite", Kind: shell.KindBool, Default: "off", Unsaid: true, Help: "logging overwrites the file instead of appending to it"},
		{Name: "logging", Kind: shell.KindBool, Unsaid: true, Help: "short for `logging enabled`",
			Get:   func() string { return onOff(c.LoggingOn()) },
			Apply: func(v string) error { return c.SetLogging(v == "on") }},
		{Name: "prompt", Default: "(hdb) ", Help: "text before a typed line; quotes keep a blank at its end"},
		{Name: "scheduler-locking", Kind: shell.KindEnum, Values: []string{"off", "on", "step", "replay"}, Default: "off", Help: "threads that run when the program continues: off is all; on is the selected one alone, while the others and those that it starts stay stopped; step is like on for step, next, stepi and nexti; replay is like off. A thread that waits for a stopped one waits until Ctrl-C",
			Get:   func() string { return string(c.Session.Settings.Locking) },
			Apply: func(v string) error { c.Session.Settings.Locking = target.Locking(v); return nil }},
		{Name: "step-mode", Kind: shell.KindBool, Default: "off", Help: "step stops in functions without line information too",
			Get:   func() string { return onOff(c.Session.Settings.StepIntoBare) },
			Apply: func(v string) error { c.Session.Settings.StepIntoBare = v == "on"; return nil }},
		{Name: "stop-lines", Kind: shell.KindCount, Default: "4", Help: "source lines in the report of a stop"},
		{Name: "style", Kind: shell.KindEnum, Values: []string{"light", "dark", "off"}, Default: "light", Help: "colours, for a light or dark background; NO_COLOR and TERM=dumb also turn them off"},
		{Name: "substitute-path", Unsaid: false, Help: "FROM TO: sources under FROM are searched for under TO",
			Get: func() string { return showSubstitutes(c) }, Apply: func(v string) error { return setSubstitute(c, v) }, Unset: func(part string) error { return unsetSubstitute(c, part) }},
		{Name: "sysroot", Kind: shell.KindFile, Help: "directory used as / when files of the program are read",
			Get:   func() string { return c.Session.Settings.Sysroot },
			Apply: func(v string) error { c.Session.Settings.Sysroot = v; return nil }},
		{Name: "system-calls", Kind: shell.KindBool, Default: "off", Help: "also follow the system calls mmap, munmap, mremap, mprotect and brk that the program makes without libc's functions; each of its system calls then costs two stops",
			Get:   func() string { return onOff(c.Session.Settings.SystemCalls) },
			Apply: func(v string) error { c.Session.Settings.SystemCalls = v == "on"; return c.Session.Planes.Apply() }},
		{Name: "tab-width", Kind: shell.KindCount, Default: "8", Help: "width of a tab in source lines"},
		{Name: "wrappers", Default: query.DefaultWrappers, Help: "regular expression for functions that only allocate for their callers: their blocks belong to the caller",
			Get:   func() string { return expression(c.Session.Settings.Wrappers) },
			Apply: func(v string) error { return setExpression(c, &c.Session.Settings.Wrappers, v) }},
		{Name: "width", Kind: shell.KindCount, Default: "0", Help: "columns of the terminal; 0 is the terminal's own number, or else COLUMNS"},
	}
}

func expression(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}

// setExpression changes a setting that decides which function a block belongs to.
func setExpression(c *desk.Desk, setting **regexp.Regexp, v string) error {
	var re *regexp.Regexp
	if v != "" {
		var err error
		if re, err = regexp.Compile(v); err != nil {
			return err
		}
	}
	*setting = re
	return c.Session.ApplyAttribution()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func showEnvironment(c *desk.Desk) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Session.Settings.Env)) {
		parts = append(parts, name+"="+c.Session.Settings.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Session.Settings.UnsetEnv)) {
		parts = append(parts, "no "+name)
	}
	return strings.Join(parts, " ")
}

// setEnvironment takes gdb's forms NAME=VALUE, NAME = VALUE and NAME VALUE.
func setEnvironment(c *desk.Desk, v string) error {
	name, value := shell.SplitWord(v)
	if before, after, ok := strings.Cut(v, "="); ok && !strings.ContainsAny(strings.TrimSpace(before), " \t") {
		name, value = strings.TrimSpace(before), strings.TrimSpace(after)
	}
	if name == "" {
		return errors.New("NAME=VALUE expected")
	}
	delete(c.Session.Settings.UnsetEnv, name)
	c.Session.Settings.Env[name] = value
	return nil
}

func showSubstitutes(c *desk.Desk) string {
	var parts []string
	for _, s := range c.Session.Names().Sources.Substitute {
		parts = append(parts, quoteIfNeeded(s[0])+" "+quoteIfNeeded(s[1]))
	}
	return strings.Join(parts, ", ")
}

func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"'\\,") {
		return shell.QuoteArg(s)
	}
	return s
}

// setSubstitute adds a rule, or replaces the one for the same FROM. It reads
// what showSubstitutes prints, too.
func setSubstitute(c *desk.Desk, v string) error {
	args, err := shell.SplitArgs(v)
	if err != nil {
		return err
	}
	if len(args) == 0 || len(args)%2 != 0 {
		return errors.New("FROM TO expected")
	}
	rules := slices.Clone(c.Session.Names().Sources.Substitute)
	for i := 0; i < len(args); i += 2 {
		rule := [2]string{args[i], strings.TrimSuffix(args[i+1], ",")}
		j := slices.IndexFunc(rules, func(r [2]string) bool { return r[0] == rule[0] })
		if j >= 0 {
			rules[j] = rule
		} else {
			rules = append(rules, rule)
		}
	}
	desk.SetSources(c, rules, c.Session.Names().Sources.Dirs)
	return nil
}

// unsetEnvironment takes a variable out for the next run.
func unsetEnvironment(c *desk.Desk, name string) error {
	if name == "" {
		return errors.New("unset environment: NAME expected")
	}
	delete(c.Session.Settings.Env, name)
	c.Session.Settings.UnsetEnv[name] = true
	return nil
}

// unsetSubstitute takes out the rule for a directory, all of them for "".
func unsetSubstitute(c *desk.Desk, from string) error {
	old := c.Session.Names().Sources.Substitute
	rules := slices.DeleteFunc(slices.Clone(old), func(r [2]string) bool { return from == "" || r[0] == from })
	if from != "" && len(rules) == len(old) {
		return fmt.Errorf("substitute-path: no rule for %q", from)
	}
	desk.SetSources(c, rules, c.Session.Names().Sources.Dirs)
	return nil
}
