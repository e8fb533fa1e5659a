package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"hdb/capture"
)

// The rows of the tables. `run` is the same in all rows of a recording: what joins
// tables. Times are by the clock, but for elapsed_us.

type parquetRun struct {
	Run       string    `parquet:"run,dict"`
	Program   string    `parquet:"program"`
	Args      []string  `parquet:"args,list"`
	PID       int64     `parquet:"pid"`
	Kernel    string    `parquet:"kernel"`
	Arch      string    `parquet:"arch"`
	Created   string    `parquet:"created"` // the hdb that recorded
	Start     time.Time `parquet:"start,timestamp(microsecond)"`
	ElapsedUS int64     `parquet:"elapsed_us"` // up to the last event
	Execs     int32     `parquet:"execs"`      // the exec of events whose blocks may be live
	Events    int64     `parquet:"events"`
	Lost      uint64    `parquet:"lost"` // calls that are missing
	Failed    int64     `parquet:"failed"`
	Blocks    int64     `parquet:"blocks"` // made
	Bytes     uint64    `parquet:"bytes"`  // in them
	Live      uint64    `parquet:"live_bytes"`
	LiveCount int64     `parquet:"live_blocks"`
	Peak      uint64    `parquet:"peak_bytes"`
	Damage    string    `parquet:"damage,optional"`
	Warnings  []string  `parquet:"warnings,list"` // what makes the numbers less certain
}

type parquetModule struct {
	Run     string `parquet:"run,dict"`
	Module  int32  `parquet:"module"`
	Path    string `parquet:"path"`
	BuildID string `parquet:"build_id,optional"`
	Low     uint64 `parquet:"low"`
	High    uint64 `parquet:"high"`
	Bias    uint64 `parquet:"bias"`
	From    int64  `parquet:"from_seq"`
	To      int64  `parquet:"to_seq,optional"`
}

type parquetFrame struct {
	Run      string `parquet:"run,dict,zstd"`
	Frame    int64  `parquet:"frame,delta"`
	Function string `parquet:"function,dict,zstd"`
	Linkage  string `parquet:"linkage,optional,zstd"`
	File     string `parquet:"file,optional,dict,zstd"`
	Line     int32  `parquet:"line,optional"`
	Address  uint64 `parquet:"address,zstd"`
	Module   *int32 `parquet:"module,optional,dict"`
	Inlined  bool   `parquet:"inlined"`
	Known    bool   `parquet:"known"`
	Guess    bool   `parquet:"guess"`
	Library  bool   `parquet:"library"`
}

// parquetStack is a frame of a stack. A stack without frames has one row, with
// none.
type parquetStack struct {
	Run       string `parquet:"run,dict,zstd"`
	Stack     int64  `parquet:"stack,delta"`
	Depth     int32  `parquet:"depth,dict"` // 0 innermost
	Frame     *int64 `parquet:"frame,optional,dict,zstd"`
	Truncated string `parquet:"truncated,optional,dict"`
}

type parquetMark struct {
	Run       string    `parquet:"run,dict"`
	Seq       int64     `parquet:"seq"`
	Time      time.Time `parquet:"time,timestamp(microsecond)"`
	ElapsedUS int64     `parquet:"elapsed_us"`
	Name      string    `parquet:"name"`
}

type parquetSample struct {
	Run       string    `parquet:"run,dict"`
	Time      time.Time `parquet:"time,timestamp(microsecond)"`
	ElapsedUS int64     `parquet:"elapsed_us"`
	RSS       uint64    `parquet:"rss"` // bytes
}

type parquetEvent struct {
	Run        string  `parquet:"run,dict,zstd"`
	Seq        int64   `parquet:"seq,delta,zstd"`
	Time       int64   `parquet:"time,timestamp(microsecond),delta,zstd"`
	ElapsedUS  int64   `parquet:"elapsed_us,delta,zstd"`
	Exec       int32   `parquet:"exec,dict,zstd"`
	Kind       string  `parquet:"kind,dict,zstd"`
	Function   string  `parquet:"function,dict,zstd"`
	TID        int32   `parquet:"tid,dict,zstd"`
	Thread     string  `parquet:"thread,optional,dict,zstd"`
	Addr       uint64  `parquet:"addr,optional,zstd"`
	Size       *uint64 `parquet:"size,optional,dict,zstd"` // nil of a free of no live block
	Old        uint64  `parquet:"old,optional,zstd"`
	Aux        uint64  `parquet:"aux,optional,dict,zstd"`
	Stack      int64   `parquet:"stack,optional,dict,zstd"`
	Makes      bool    `parquet:"makes,zstd"`
	Ends       bool    `parquet:"ends,zstd"`
	EndedSize  uint64  `parquet:"ended_size,dict,zstd"`
	EndedStack int64   `parquet:"ended_stack,optional,dict,zstd"`
	EndedSeq   int64   `parquet:"ended_seq,optional,delta,zstd"`
	Failed     bool    `parquet:"failed,zstd"`
	Abandoned  bool    `parquet:"abandoned,zstd"`
}

const (
	// parquetGroup is the number of rows that are in memory at most: some 30 MiB of
	// events.
	parquetGroup = 1 << 18
	// parquetBatch is the number of rows that are handed to the library at once.
	parquetBatch = 1 << 10
	// parquetDictionary bounds a column's dictionary; more than fits is written plainly.
	parquetDictionary = 1 << 20
)

// WriteParquet writes the tables runs, modules, frames, stacks, marks, samples and
// events as a file each, DIR/TABLE/host=HOST/date=DATE/PID-START.parquet, so that many
// recordings in one DIR are one set of tables, partitioned as Hive does it. The
// files of the same recording are replaced. Each appears when all of it is written.
func WriteParquet(dir string, r *Recording) (err error) {
	d := &dataset{dir: dir, r: r, key: utf8Text(r.key())}
	defer func() {
		if err != nil {
			d.discard()
		}
	}()
	if err := d.modules(); err != nil {
		return err
	}
	if err := d.stacks(); err != nil {
		return err
	}
	if err := d.marks(); err != nil {
		return err
	}
	if err := d.samples(); err != nil {
		return err
	}
	run, err := d.events()
	if err != nil {
		return err
	}
	if err := writeRows(d, "runs", func(add func(parquetRun)) { add(run) }); err != nil {
		return err
	}
	if r.Cut != nil {
		if err := r.Cut(); err != nil {
			return err
		}
	}
	return d.publish()
}

// A dataset is the files of one recording.
type dataset struct {
	dir   string
	r     *Recording
	key   string
	files []string // in the order in which they were made, under temporary names
	made  []string // folders that were not there
}

// partition is the folder of the recording's files under the table's folder.
func (d *dataset) partition() string {
	host := hiveName(d.r.Info.Host)
	return filepath.Join("host="+host, "date="+d.r.Info.Start.UTC().Format(time.DateOnly))
}

// name is the name of the recording's files.
func (d *dataset) name() string {
	return fmt.Sprintf("%d-%s.parquet", d.r.Info.PID, d.r.Info.Start.UTC().Format(keyTime))
}

// temporary is a name until the file is whole: readers of datasets pass over those that
// begin with a dot.
func (d *dataset) temporary(name string) string {
	return fmt.Sprintf(".%s.%d.tmp", name, os.Getpid())
}

// create makes the file of a table.
func (d *dataset) create(table string) (*os.File, error) {
	folder := filepath.Join(d.dir, table, d.partition())
	if err := d.makeFolder(folder); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, d.temporary(d.name()))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	d.files = append(d.files, path)
	return f, nil
}

// makeFolder makes a folder with those above it.
func (d *dataset) makeFolder(folder string) error {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d.made = append(d.made, dir)
	}
	return os.MkdirAll(folder, 0o700)
}

// publish gives the files their names, the runs' last: a run that is listed is whole.
func (d *dataset) publish() error {
	for len(d.files) > 0 {
		path := d.files[0]
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), d.name())); err != nil {
			return err
		}
		d.files = d.files[1:]
	}
	return nil
}

func (d *dataset) discard() {
	for _, path := range d.files {
		_ = os.Remove(path) // the error that led here says more
	}
	slices.SortFunc(d.made, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // what is inside first
	for _, dir := range d.made {
		_ = os.Remove(dir) // another export may have files there by now
	}
}

// hiveName is a value as Hive writes it into the name of a folder: what has a
// meaning in paths, or may have, as its bytes in hexadecimal behind a percent sign.
func hiveName(value string) string {
	const most = 200 // a file name has at most 255 bytes
	var b strings.Builder
	for i := 0; i < len(value) && b.Len() < most; i++ {
		c := value[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return cmp.Or(b.String(), "__HIVE_DEFAULT_PARTITION__")
}

// utf8Text is a text as a column of strings may hold it.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// writeRows writes the file of a table with the rows that each adds.
func writeRows[T any](d *dataset, table string, each func(add func(T))) error {
	rows, err := newRowWriter[T](d, table)
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	each(rows.add)
	return rows.close()
}

// rowWriter writes the rows of a table, until an error that close returns.
type rowWriter[T any] struct {
	file *os.File
	w    *parquet.GenericWriter[T]
	rows []T
	err  error
}

func newRowWriter[T any](d *dataset, table string) (*rowWriter[T], error) {
	file, err := d.create(table)
	if err != nil {
		return nil, err
	}
	return &rowWriter[T]{file: file, rows: make([]T, 0, parquetBatch), w: parquet.NewGenericWriter[T](file,
		parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(parquetGroup),
		parquet.DictionaryMaxBytes(parquetDictionary), parquet.CreatedBy("hdb", "1", utf8Text(d.r.Info.Created)))}, nil
}

func (w *rowWriter[T]) add(row T) {
	if w.rows = append(w.rows, row); len(w.rows) == cap(w.rows) {
		w.flush()
	}
}

func (w *rowWriter[T]) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.rows)
	}
	w.rows = w.rows[:0]
}

func (w *rowWriter[T]) close() error {
	w.flush()
	if w.err == nil {
		w.err = w.w.Close()
	}
	if err := errors.Join(w.err, w.file.Close()); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

func (d *dataset) modules() error {
	return writeRows(d, "modules", func(add func(parquetModule)) {
		for i, m := range d.r.Modules {
			add(parquetModule{
				Run: d.key, Module: int32(i), Path: utf8Text(m.Path), BuildID: utf8Text(m.BuildID),
				Low: uint64(m.Low), High: uint64(m.High), Bias: uint64(m.Bias), From: int64(m.From), To: int64(m.To),
			})
		}
	})
}

func (d *dataset) marks() error {
	return writeRows(d, "marks", func(add func(parquetMark)) {
		for _, m := range d.r.Marks {
			add(parquetMark{d.key, int64(m.Seq), d.r.at(m.Time), m.Time.Microseconds(), utf8Text(m.Name)})
		}
	})
}

func (d *dataset) samples() error {
	return writeRows(d, "samples", func(add func(parquetSample)) {
		for _, m := range d.r.RSS {
			add(parquetSample{d.key, d.r.at(m.Time), m.Time.Microseconds(), m.RSS})
		}
	})
}

// stacks writes the frames, too: those that a stack is the first to have.
func (d *dataset) stacks() error {
	frames, err := newRowWriter[parquetFrame](d, "frames")
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	known := 0
	err = writeRows(d, "stacks", func(add func(parquetStack)) {
		for id := 1; id <= d.r.Stacks; id++ {
			st := d.r.Stack(capture.StackID(id))
			row := parquetStack{Run: d.key, Stack: int64(id), Truncated: utf8Text(st.Truncated)}
			if len(st.Frames) == 0 {
				add(row)
			}
			for depth, i := range st.Frames {
				for ; known <= i; known++ {
					frames.add(parquetFrameOf(d.key, known, d.r.Frame(known)))
				}
				frame := int64(i)
				row.Depth, row.Frame = int32(depth), &frame
				add(row)
			}
		}
	})
	return errors.Join(err, frames.close())
}

func parquetFrameOf(run string, i int, f Frame) parquetFrame {
	row := parquetFrame{
		Run: run, Frame: int64(i), Function: utf8Text(f.Function), Linkage: utf8Text(f.Linkage), File: utf8Text(f.File),
		Line: int32(f.Line), Address: f.Address, Inlined: f.Inlined, Known: f.Known, Guess: f.Guess, Library: f.Library,
	}
	if f.Module >= 0 {
		module := int32(f.Module)
		row.Module = &module
	}
	return row
}

// events writes the events, and is what they add up to.
func (d *dataset) events() (parquetRun, error) {
	i := &d.r.Info
	sum := parquetRun{
		Run: d.key, Program: utf8Text(i.Program), PID: int64(i.PID), Kernel: utf8Text(i.Kernel), Arch: utf8Text(i.Arch),
		Created: utf8Text(i.Created), Start: d.r.at(0), Lost: i.Totals.Lost,
	}
	for _, a := range i.Args {
		sum.Args = append(sum.Args, utf8Text(a))
	}
	threads := d.r.threadNames()
	functions := make([]string, len(d.r.Functions))
	for i, name := range d.r.Functions {
		functions[i] = utf8Text(name)
	}
	runs := runs{execs: d.r.Execs}
	w, err := newRowWriter[parquetEvent](d, "events")
	if err != nil {
		return sum, fmt.Errorf("parquet: %w", err)
	}
	for e := range d.r.Events {
		row := parquetEvent{
			Run: d.key, Seq: int64(e.Seq), Time: d.r.at(e.Time).UnixMicro(), ElapsedUS: e.Time.Microseconds(), Exec: runs.of(e.Seq),
			Kind: e.Kind.String(), TID: e.TID, Thread: threads[e.TID], Addr: e.Addr, Old: e.Old, Aux: e.Aux,
			Stack: int64(e.Stack), Makes: e.Allocates(), Failed: e.Failed, Abandoned: e.Abandoned,
		}
		if e.SizeKnown() {
			row.Size = new(e.Size)
		}
		if int(e.Func) < len(functions) {
			row.Function = functions[e.Func]
		}
		if e.Ended.Recorded {
			row.Ends, row.EndedSize, row.EndedStack, row.EndedSeq = true, e.Ended.Size, int64(e.Ended.Stack), int64(e.EndedSeq)
		}
		sum.add(&row)
		w.add(row)
		if w.err != nil {
			break // a full disk is not worth reading on
		}
	}
	if n := len(d.r.Execs); n > 0 && d.r.Execs[n-1] <= d.r.To {
		sum.exec(int32(n)) // perhaps after the last event
	}
	careful := d.r.Caveats
	if err := d.r.Damage(); err != nil { // events may be what could not be read
		sum.Damage = utf8Text(err.Error())
		careful.Damage = err
	}
	for _, text := range careful.Lines() {
		sum.Warnings = append(sum.Warnings, utf8Text(text))
	}
	return sum, w.close()
}

// exec begins program n of the process, unless it runs already.
func (s *parquetRun) exec(n int32) {
	if n != s.Execs {
		s.Execs, s.Live, s.LiveCount = n, 0, 0
	}
}

// add adds an event.
func (s *parquetRun) add(e *parquetEvent) {
	s.exec(e.Exec)
	s.Events++
	s.ElapsedUS = e.ElapsedUS
	if e.Failed {
		s.Failed++
	}
	if e.Ends {
		s.Live -= e.EndedSize
		s.LiveCount--
	}
	if e.Makes {
		s.Blocks++
		s.Bytes += *e.Size
		s.Live += *e.Size
		s.LiveCount++
		s.Peak = max(s.Peak, s.Live)
	}
}
