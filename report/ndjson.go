package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"hdb/capture"
)

// WriteNDJSON writes a JSON object a line: one of type recording, those of the
// modules, of frames and the stacks of them, marks, samples of the resident memory,
// the events in order, and one of type end, without which the file is incomplete.
// Addresses are strings in hexadecimal, for JSON's readers take numbers for
// floating-point ones; times are microseconds.
func WriteNDJSON(w io.Writer, r *Recording) error {
	l := &lineWriter{w: bufio.NewWriterSize(w, 1<<16)}
	l.value(struct {
		Type     string    `json:"type"`
		Format   int       `json:"format"`
		Run      string    `json:"run"`
		Program  string    `json:"program"`
		Args     []string  `json:"args"`
		PID      int       `json:"pid"`
		Host     string    `json:"host"`
		Kernel   string    `json:"kernel"`
		Arch     string    `json:"arch"`
		Created  string    `json:"created"`
		Start    time.Time `json:"start"`
		Lost     uint64    `json:"lost"`
		Warnings []string  `json:"warnings,omitempty"`
	}{"recording", 1, r.key(), r.Info.Program, append([]string{}, r.Info.Args...), r.Info.PID, r.Info.Host, r.Info.Kernel, r.Info.Arch, r.Info.Created, r.Info.Start.UTC(), r.Info.Totals.Lost, r.Caveats.Lines()})
	for i, m := range r.Modules {
		l.value(struct {
			Type    string `json:"type"`
			Module  int    `json:"module"`
			Path    string `json:"path"`
			BuildID string `json:"build_id,omitempty"`
			Low     string `json:"low"`
			High    string `json:"high"`
			Bias    string `json:"bias"`
			From    uint64 `json:"from"`
			To      uint64 `json:"to,omitempty"`
		}{"module", i, m.Path, m.BuildID, hexAddress(uint64(m.Low)), hexAddress(uint64(m.High)), hexAddress(uint64(m.Bias)), m.From, m.To})
	}
	l.stacks(r)
	for _, m := range r.Marks {
		l.value(struct {
			Type string `json:"type"`
			Seq  uint64 `json:"seq"`
			Time int64  `json:"time_us"`
			Name string `json:"name"`
		}{"mark", m.Seq, m.Time.Microseconds(), m.Name})
	}
	for _, m := range r.RSS {
		l.value(struct {
			Type string `json:"type"`
			Time int64  `json:"time_us"`
			RSS  uint64 `json:"rss"`
		}{"sample", m.Time.Microseconds(), m.RSS})
	}
	n := l.events(r)
	damage := ""
	if err := r.Damage(); err != nil {
		damage = err.Error()
	}
	l.value(struct {
		Type   string `json:"type"`
		Events uint64 `json:"events"`
		Damage string `json:"damage,omitempty"`
	}{"end", n, damage})
	if l.err != nil {
		return l.err
	}
	return l.w.Flush()
}

// lineWriter writes lines until an error, which it keeps.
type lineWriter struct {
	w   *bufio.Writer
	err error
	buf []byte
}

func (l *lineWriter) value(v any) {
	if l.err != nil {
		return
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line) // it ends the line
	e.SetEscapeHTML(false)
	if l.err = e.Encode(v); l.err == nil {
		_, l.err = l.w.Write(line.Bytes())
	}
}

// stacks writes the stacks, each after those of its frames that no other one had.
func (l *lineWriter) stacks(r *Recording) {
	known := 0
	for id := 1; id <= r.Stacks && l.err == nil; id++ {
		st := r.Stack(capture.StackID(id))
		for _, i := range st.Frames {
			for ; known <= i; known++ {
				l.frame(known, r.Frame(known))
			}
		}
		l.value(struct {
			Type      string `json:"type"`
			Stack     int    `json:"stack"`
			Frames    []int  `json:"frames"`
			Truncated string `json:"truncated,omitempty"`
		}{"stack", id, append([]int{}, st.Frames...), st.Truncated})
	}
}

func (l *lineWriter) frame(i int, f Frame) {
	var module *int
	if f.Module >= 0 {
		module = &f.Module
	}
	l.value(struct {
		Type     string `json:"type"`
		Frame    int    `json:"frame"`
		Function string `json:"function"`
		Linkage  string `json:"linkage,omitempty"`
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Address  string `json:"address"`
		Module   *int   `json:"module,omitempty"`
		Inlined  bool   `json:"inlined,omitempty"`
		Known    bool   `json:"known,omitempty"`
		Guess    bool   `json:"guess,omitempty"`
		Library  bool   `json:"library,omitempty"`
	}{"frame", i, f.Function, f.Linkage, f.File, f.Line, hexAddress(f.Address), module, f.Inlined, f.Known, f.Guess, f.Library})
}

// events writes the events and counts them. There are millions: their lines are put
// together by hand.
func (l *lineWriter) events(r *Recording) (n uint64) {
	names := map[uint16]string{} // quoted
	run := runs{execs: r.Execs}
	for e := range r.Events {
		name, ok := names[e.Func]
		if !ok {
			quoted, err := json.Marshal(r.function(&e))
			if err != nil {
				l.err = err
				return n
			}
			name = string(quoted)
			names[e.Func] = name
		}
		if l.err != nil {
			return n
		}
		l.buf = appendEvent(l.buf[:0], &e, name, run.of(e.Seq))
		_, l.err = l.w.Write(l.buf)
		n++
	}
	return n
}

// appendEvent adds the line of an event; fields without meaning for it are left
// out.
func appendEvent(b []byte, e *Event, function string, run int32) []byte {
	number := func(key string, n uint64) { b = strconv.AppendUint(append(b, key...), n, 10) }
	address := func(key string, a uint64) {
		b = append(b, key...)
		b = append(strconv.AppendUint(append(b, `"0x`...), a, 16), '"')
	}
	number(`{"type":"event","seq":`, e.Seq)
	number(`,"time_us":`, uint64(max(e.Time, 0).Microseconds()))
	b = append(append(b, `,"kind":"`...), e.Kind.String()...)
	b = append(append(b, `","function":`...), function...)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(e.TID), 10)
	if e.Addr != 0 {
		address(`,"addr":`, e.Addr)
	}
	if e.SizeKnown() {
		number(`,"size":`, e.Size)
	}
	if e.Old != 0 {
		address(`,"old":`, e.Old)
	}
	if e.Aux != 0 {
		number(`,"aux":`, e.Aux)
	}
	if e.Stack != 0 {
		number(`,"stack":`, uint64(e.Stack))
	}
	if e.Allocates() {
		b = append(b, `,"makes":true`...)
	}
	if e.Ended.Recorded {
		number(`,"ends":true,"ended_size":`, e.Ended.Size)
		if e.Ended.Stack != 0 {
			number(`,"ended_stack":`, uint64(e.Ended.Stack))
		}
		if e.EndedSeq != 0 {
			number(`,"ended_seq":`, e.EndedSeq)
		}
	}
	if run != 0 {
		number(`,"exec":`, uint64(run))
	}
	if e.Failed {
		b = append(b, `,"failed":true`...)
	}
	if e.Abandoned {
		b = append(b, `,"abandoned":true`...)
	}
	return append(b, "}\n"...)
}

func hexAddress(a uint64) string { return "0x" + strconv.FormatUint(a, 16) }
