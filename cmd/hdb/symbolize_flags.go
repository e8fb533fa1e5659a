package main

import (
	"fmt"
	"strconv"
	"strings"
)

const symbolizeUsage = `hdb symbolize prints the file and line of each address, like addr2line, and with -f its
function; with -f -i -C also inlined calls, with the names in the source.

usage:
  hdb symbolize -e FILE [flags] [ADDR...]      addresses in the file
  hdb symbolize --pid PID [flags] [ADDR...]    addresses in the process
  hdb symbolize --core CORE [flags] [ADDR...]  addresses in the process of a core file
  hdb symbolize [flags] < LIST                 lines "FILE ADDR", each with its own file
  hdb symbolize -f -i -C -e ./server 0x1139    for example

Addresses are hexadecimal, with 0x or without, from the arguments or one a line
from standard input; each line is answered before the next one is read. They are
addresses of instructions: for return addresses use --return, or the answer may be
the line after the call.

flags, of addr2line:
  -e, --exe FILE       the file            -f, --functions    names of functions, too
  -i, --inlines        also the functions that the code was inlined into
  -C, --demangle       names as in the source           -s, --basenames   no folders
  -a, --addresses      the address before the answer    -p, --pretty-print  one line each
  -j, --section NAME   addresses count from the beginning of the section
  -b, -r, -R           accepted, without effect
flags of its own:
  --pid PID            the modules of a process, by its memory map
  --core CORE          the modules of a process that died, by its core file
  --find               the arguments are functions, or lines FILE:LINE, not addresses; the
                       answer is each place where one begins, inlined ones too
  --return             addresses are return addresses: answer for the byte before
  --arch NAME          the architecture in a universal macOS file: x86_64, arm64
  --dsym-hint DIR      a directory with dSYM bundles, or a bundle; repeatable
  --debuginfod         ask the servers of DEBUGINFOD_URLS for debug files missing
                       on this machine, and wait for them; --no-debuginfod, the default, does not
  --output-style GNU   as addr2line (the default), or LLVM: as llvm-symbolizer, with -f -i -C
  --json               a line with one JSON object for each address

Files are ELF, or macOS programs, libraries and dSYM bundles. In an object file with
several code sections, -j NAME selects the section of the addresses. What is unknown is
shown as ??, ??:0 (a name without a line: ??:?, like addr2line).
`

// symbolizeOptions are the command line of hdb symbolize.
type symbolizeOptions struct {
	path, section, arch, core                     string
	hints                                         []string
	pid                                           int
	functions, inlines, demangle, basenames       bool
	addresses, pretty, json, llvm, returns, usage bool
	debuginfod, find                              bool
	words                                         []string
}

// parseSymbolize reads flags as getopt_long(3) does: short ones joined, values in
// the same word or the next, and words between flags.
func parseSymbolize(argv []string) (*symbolizeOptions, error) {
	o := &symbolizeOptions{}
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			o.words = append(o.words, argv[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			o.words = append(o.words, word)
			continue
		}
		next := func() (string, bool) {
			if i+1 == len(argv) {
				return "", false
			}
			i++
			return argv[i], true
		}
		var err error
		switch {
		case strings.HasPrefix(word, "--"):
			err = o.long(word[2:], next)
		case word == "-json", word == "-obj": // as in llvm-symbolizer's older spelling
			err = o.long(word[1:], next)
		default:
			err = o.short(word[1:], next)
		}
		if err != nil {
			return nil, fmt.Errorf("symbolize: %s: %w", word, err)
		}
	}
	if o.llvm {
		o.functions, o.inlines, o.demangle = true, true, true
	}
	if o.find && (o.path == "" || o.section != "") {
		return nil, fmt.Errorf("symbolize: --find searches one file: give -e FILE, without -j: %w", errUsage)
	}
	if (o.pid != 0 || o.core != "") && (o.path != "" || o.section != "") || o.pid != 0 && o.core != "" {
		return nil, fmt.Errorf("symbolize: --pid and --core use the files of the process: remove -e and -j: %w", errUsage)
	}
	return o, nil
}

var errNoValue = fmt.Errorf("value missing: %w", errUsage)

// short reads letters; what follows one with a value is its value.
func (o *symbolizeOptions) short(letters string, next func() (string, bool)) error {
	names := map[byte]string{'e': "exe", 'f': "functions", 'i': "inlines", 'C': "demangle", 's': "basenames", 'a': "addresses",
		'p': "pretty-print", 'j': "section", 'b': "target", 'r': "no-recurse-limit", 'R': "recurse-limit", 'h': "help"}
	for k := 0; k < len(letters); k++ {
		name, ok := names[letters[k]]
		if !ok {
			return fmt.Errorf("no flag -%c: see hdb symbolize --help", letters[k])
		}
		rest := letters[k+1:]
		if strings.IndexByte("ejb", letters[k]) < 0 {
			rest = ""
		}
		err := o.long(name, func() (string, bool) {
			if rest != "" {
				return rest, true
			}
			return next()
		})
		if err != nil || rest != "" {
			return err
		}
	}
	return nil
}

// long sets the flag of that name, "name" or "name=value".
func (o *symbolizeOptions) long(word string, next func() (string, bool)) (err error) {
	name, value, inline := strings.Cut(word, "=")
	switch name {
	case "exe", "obj", "section", "target", "pid", "core", "output-style", "arch", "default-arch", "dsym-hint":
		if !inline {
			if value, inline = next(); !inline {
				return errNoValue
			}
		}
	case "functions", "demangle": // of a kind, which makes no difference
	default:
		if inline {
			return fmt.Errorf("takes no value: %w", errUsage)
		}
	}
	switch name {
	case "exe", "obj":
		o.path = value
	case "section":
		o.section = value
	case "arch", "default-arch":
		o.arch = value
	case "dsym-hint":
		o.hints = append(o.hints, value)
	case "core":
		o.core = value
	case "pid":
		if o.pid, err = strconv.Atoi(value); err != nil || o.pid <= 0 {
			return fmt.Errorf("%q is not a process ID: %w", value, errUsage)
		}
	case "output-style":
		if value != "GNU" && value != "LLVM" {
			return fmt.Errorf("%q: GNU or LLVM: %w", value, errUsage)
		}
		o.llvm = value == "LLVM"
	case "functions":
		o.functions = true
	case "inlines", "inlining":
		o.inlines = true
	case "demangle":
		o.demangle = true
	case "basenames":
		o.basenames = true
	case "addresses":
		o.addresses = true
	case "pretty-print":
		o.pretty = true
	case "json":
		o.json = true
	case "return":
		o.returns = true
	case "find":
		o.find, o.addresses = true, true
	case "debuginfod", "no-debuginfod":
		o.debuginfod = name == "debuginfod"
	case "help":
		o.usage = true
	case "target", "recurse-limit", "no-recurse-limit":
	default:
		return fmt.Errorf("no such flag: see hdb symbolize --help: %w", errUsage)
	}
	return nil
}
