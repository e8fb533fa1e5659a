package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/symbols"
)

// symbolizer answers addresses.
type symbolizer struct {
	*symbolizeOptions
	modules []*symbolizeModule
	byPath  map[string]int32
	maps    []inferior.Mapping // of the process, ascending
	dead    *corefile.File     // the core file that the process is read from
	servers *servers           // asked for debug files, nil: none
	whole   bool               // no question comes after those of this batch
	errw    io.Writer
	code    int
	settled bool // memory is collected as while answering
	scratch scratch
}

// named is a file that knows its addresses: elfFile or symbols.MachO.
type named interface {
	LookupInto([]symbols.Frame, addr.File) []symbols.Frame
	SymbolAt(addr.File) (symbols.Sym, uint64, bool)
	FindFunctions(name string) []symbols.Function
	FindLine(file string, line int) []symbols.Location
	Section(name string) ([]byte, addr.File, bool)
	Segments() []symbols.Segment
	Forget()
	Close() error
}

// openNamed opens a file of whatever format.
func (s *symbolizer) openNamed(path string) (named, error) {
	if symbols.IsMachO(path) {
		m, err := symbols.OpenMachO(path, symbols.MachOConfig{Arch: s.arch, DebugDirs: s.hints})
		if err != nil {
			return nil, err // not a nil *MachO
		}
		return m, nil
	}
	var cfg symbols.Config
	if s.servers != nil {
		cfg.Fetch = s.servers // not a nil *servers
	}
	obj, err := symbols.Open(path, cfg)
	if err != nil {
		return nil, err
	}
	return newELFFile(obj), nil
}

// elfFile is an object with the methods of its parts.
type elfFile struct {
	*symbols.Object
	*symbols.File
	*symbols.Symtab
	*symbols.DWARF
	*symbols.Lines
}

func newELFFile(o *symbols.Object) elfFile { return elfFile{o, o.File, o.Symtab, o.DWARF, o.Lines} }

// FindLine finds the code of a source line.
func (f elfFile) FindLine(file string, line int) []symbols.Location { return f.Find(file, line) }

// symbolizeModule is an open file.
type symbolizeModule struct {
	obj  named     // nil: it could not be opened
	base addr.File // where addresses count from
	size uint64    // of the section of a relocatable file, 0: addresses are not bounded
	segs []symbols.Segment
}

// Files are read with little rubbish. While little more is known a smaller heap costs
// little more time; later the answers would have all of it looked through too often.
const (
	openGC  = 400
	firstGC = 50
	laterGC = 150
)

func symbolize(argv []string, in io.Reader, out, errw io.Writer) int {
	o, err := parseSymbolize(argv)
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if o.usage {
		return printText(out, errw, symbolizeUsage)
	}
	s := &symbolizer{symbolizeOptions: o, byPath: map[string]int32{}, errw: errw}
	if len(argv) == 0 {
		return fail(errw, errNoFile, exitUsage)
	}
	if o.debuginfod {
		if s.servers, err = newServers(errw); err != nil {
			return fail(errw, err, exitUsage)
		}
	}
	defer s.close()
	if err := s.open(); err != nil {
		return fail(errw, err, exitTarget)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(openGC))
	w := bufio.NewWriterSize(out, 1<<16)
	if len(o.words) > 0 {
		s.whole = true
		var list []question
		for _, word := range o.words {
			list = s.question(list, word)
		}
		err = s.answer(w, list)
	} else {
		err = s.stream(w, in)
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return fail(errw, err, 1)
	}
	return s.code
}

var errNoFile = errors.New("symbolize: -e FILE, --pid PID or --core CORE is missing: see hdb symbolize --help")

// open opens what all addresses are of.
func (s *symbolizer) open() (err error) {
	switch {
	case s.pid != 0:
		s.maps, err = inferior.MapsOf(s.pid)
		return err
	case s.core != "":
		return s.openCore()
	case s.path == "":
		return nil
	}
	obj, err := s.openNamed(s.path)
	if err != nil {
		return err
	}
	s.add(s.path, obj)
	if s.find {
		return nil
	}
	return s.modules[0].origin(s.path, s.section)
}

// origin finds what the addresses of questions count from: the section that -j names, or
// the only section of code of a relocatable file.
func (m *symbolizeModule) origin(path, section string) error {
	var code []symbols.CodeSection
	if elf, ok := m.obj.(elfFile); ok {
		code = elf.CodeSections()
	}
	if section != "" {
		_, at, ok := m.obj.Section(section)
		if !ok {
			return fmt.Errorf("%s: no section %s", path, section)
		}
		m.base = at
		code = slices.DeleteFunc(code, func(c symbols.CodeSection) bool { return c.Low != at })
	}
	switch len(code) {
	case 0:
		return nil
	case 1:
		m.base, m.size = code[0].Low, uint64(code[0].High-code[0].Low)
		return nil
	}
	names := code[0].Name + ", " + code[1].Name
	if len(code) > 2 {
		names += ", ..."
	}
	return fmt.Errorf("%s: relocatable, with %d sections of code (%s) that all begin at 0: choose one with -j NAME", path, len(code), names)
}

func (s *symbolizer) add(path string, obj named) int32 {
	n := int32(len(s.modules))
	s.modules = append(s.modules, &symbolizeModule{obj: obj})
	s.byPath[path] = n
	return n
}

func (s *symbolizer) close() {
	defer s.servers.close() // last: files of modules still ask
	if s.dead != nil {
		defer s.dead.Close()
	}
	for _, m := range s.modules {
		if m.obj == nil {
			continue
		}
		if mac, ok := m.obj.(*symbols.MachO); ok {
			for _, p := range mac.Problems() {
				warn(s.errw, p)
			}
		}
		m.obj.Close()
	}
}

func (s *symbolizer) complain(err error) { s.code = fail(s.errw, err, 1) }

// module is the file at path, opened at the first question; a file that cannot be
// opened is named once.
func (s *symbolizer) module(path, open string) int32 {
	if n, ok := s.byPath[path]; ok {
		return n
	}
	obj, err := s.openNamed(open)
	if err != nil {
		s.complain(err)
		return s.add(path, nil)
	}
	n := s.add(path, obj)
	if err := s.modules[n].origin(path, ""); err != nil {
		s.complain(err)
		obj.Close()
		s.modules[n].obj = nil
	}
	return n
}

// A question is an address, and where to look.
type question struct {
	at     uint64    // as it was asked
	file   addr.File // in the module
	module int32     // in modules, -1 none
	unit   int32     // of the module's DWARF, when the order of units matters
}

// maxBatch bounds the questions that are answered side by side.
const maxBatch = 1 << 16

// stream answers lines. Those that are there are answered together; none waits for
// one that may never come.
func (s *symbolizer) stream(w *bufio.Writer, in io.Reader) error {
	chunks := make(chan []byte, 16)
	var failure error // set before chunks is closed
	go func() {
		defer close(chunks)
		failure = readLines(in, chunks)
	}()
	list := isRegular(in) // all of it is there
	var batch []question
	for chunk := range chunks {
		batch = s.lines(batch[:0], chunk)
		s.whole = false
		for len(batch) < maxBatch {
			more, ok := receive(chunks, list)
			if !ok {
				s.whole = list
				break
			}
			batch = s.lines(batch, more)
		}
		if err := errors.Join(s.answer(w, batch), w.Flush()); err != nil {
			return err
		}
		if len(batch) >= maxBatch {
			debug.SetGCPercent(laterGC)
		}
	}
	return failure
}

// receive is the next chunk: the one that is there, or with wait the one that comes.
func receive(chunks <-chan []byte, wait bool) (chunk []byte, ok bool) {
	if wait {
		chunk, ok = <-chunks
		return chunk, ok
	}
	select {
	case chunk, ok = <-chunks:
	default:
	}
	return chunk, ok
}

func isRegular(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular()
}

// maxQuestion bounds a line in bytes: a path and an address.
const maxQuestion = 1 << 16

// readLines sends whole lines, as many as there are at a time.
func readLines(in io.Reader, chunks chan<- []byte) error {
	buf := make([]byte, 1<<16)
	var rest []byte
	for {
		n, err := in.Read(buf)
		data := append(rest, buf[:n]...)
		end := bytes.LastIndexByte(data, '\n') + 1
		if err != nil || end == 0 && len(data) > maxQuestion {
			end = len(data)
		}
		if end > 0 {
			chunks <- data[:end]
		}
		rest = bytes.Clone(data[end:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lines reads questions, each a line.
func (s *symbolizer) lines(list []question, chunk []byte) []question {
	for line := range strings.Lines(string(chunk)) {
		list = s.question(list, line)
	}
	return list
}

// question reads a word: an address, a file and an address, or a place to find.
func (s *symbolizer) question(list []question, word string) []question {
	word = strings.TrimSpace(word)
	if word == "" {
		return list
	}
	if s.find {
		return append(list, s.places(word)...)
	}
	q := question{module: -1}
	path := ""
	if i := strings.LastIndexAny(word, " \t"); i >= 0 {
		path, word = strings.Trim(strings.TrimSpace(word[:i]), `"`), word[i+1:]
	}
	at, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(word, "0x"), "0X"), 16, 64)
	if err != nil {
		s.complain(fmt.Errorf("address %q: not a hexadecimal number: use 1139 or 0x1139", word))
		return append(list, q)
	}
	q.at = at
	if s.returns && at > 0 {
		at-- // addr.Return.Lookup: the call is before it
	}
	switch {
	case path != "":
		q.module = s.module(path, path)
		q.module, q.file = s.counted(q.module, at)
	case s.pid != 0, s.dead != nil:
		q.module, q.file = s.mapped(addr.Run(at))
	case s.path != "":
		q.module, q.file = s.counted(0, at)
	default:
		s.complain(fmt.Errorf("address %q: no file given: use -e FILE, or lines of FILE and ADDR", word))
	}
	return append(list, q)
}

// counted is where an address of a question is in the module n.
func (s *symbolizer) counted(n int32, at uint64) (module int32, file addr.File) {
	m := s.modules[n]
	if m.size > 0 && at >= m.size {
		return -1, 0
	}
	return n, m.base + addr.File(at)
}

// places are questions for the places of a function or a line.
func (s *symbolizer) places(word string) (list []question) {
	obj := s.modules[0].obj
	var code []symbols.CodeSection
	if elf, ok := obj.(elfFile); ok {
		code = elf.CodeSections()
	}
	add := func(a addr.File) {
		at := a
		for _, c := range code { // in which they begin at 0
			if c.Contains(a) {
				at -= c.Low
			}
		}
		list = append(list, question{at: uint64(at), file: a})
	}
	colon := strings.LastIndexByte(word, ':')
	if line, err := strconv.Atoi(word[colon+1:]); colon > 0 && err == nil {
		for _, l := range obj.FindLine(word[:colon], line) {
			add(l.Addr)
		}
	} else {
		for _, fn := range obj.FindFunctions(word) {
			add(fn.Low)
		}
	}
	if len(list) == 0 {
		s.complain(fmt.Errorf("%s: no such function or line in %s", word, s.path))
	}
	return list
}
