package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hdb/console"
	"hdb/internal/addr"
	"hdb/symbols"
)

// symbolize answers like llvm-symbolizer: for each file address the functions,
// innermost first, each with its file and line.
func symbolize(argv []string, in io.Reader, out, errw io.Writer) int {
	var path string
	var asJSON bool
	var words []string
	for i := 0; i < len(argv); i++ {
		switch argv[i] {
		case "-e", "--exe", "-obj":
			if i++; i < len(argv) {
				path = argv[i]
			}
		case "--json", "-json":
			asJSON = true
		default:
			words = append(words, argv[i])
		}
	}
	if path == "" {
		return fail(errw, errNoFile, exitUsage)
	}
	obj, err := symbols.Open(path, symbols.Config{})
	if err != nil {
		return fail(errw, err, exitTarget)
	}
	defer obj.Close()
	w := bufio.NewWriter(out)
	code := 0
	one := func(word string) {
		if err := symbolizeOne(w, obj, word, asJSON); err != nil {
			code = fail(errw, err, 1)
		}
	}
	for _, word := range words {
		one(word)
	}
	if len(words) == 0 {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if word := strings.TrimSpace(lines.Text()); word != "" {
				one(word)
			}
		}
		if err := lines.Err(); err != nil {
			code = fail(errw, err, 1)
		}
	}
	if err := w.Flush(); err != nil {
		code = fail(errw, err, 1)
	}
	return code
}

// symbolized is the JSON object of one address.
type symbolized struct {
	V       int               `json:"v"`
	Address string            `json:"address"`
	Frames  []symbolizedFrame `json:"frames"`
}

type symbolizedFrame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Inlined  bool   `json:"inlined,omitempty"`
	Source   string `json:"source"`
}

func symbolizeOne(w io.Writer, obj *symbols.Object, word string, asJSON bool) error {
	a, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		return fmt.Errorf("address %q: not a number: use 0x1139", word)
	}
	frames := obj.Lookup(addr.File(a))
	if asJSON {
		row := symbolized{V: 1, Address: fmt.Sprintf("%#x", a), Frames: []symbolizedFrame{}}
		for _, f := range frames {
			row.Frames = append(row.Frames, symbolizedFrame{f.Function, f.File, f.Line, f.Column, f.Inlined, f.Source.String()})
		}
		return json.NewEncoder(w).Encode(row)
	}
	if len(frames) == 0 {
		_, err = fmt.Fprint(w, "??\n??:0:0\n\n")
		return err
	}
	for _, f := range frames {
		file := f.File
		if file == "" {
			file = "??"
		}
		if _, err := fmt.Fprintf(w, "%s\n%s:%d:%d\n", console.Clean(f.Function), console.Clean(file), f.Line, f.Column); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w)
	return err
}
