// Package unsure writes captures for tests whose numbers are not those of the run: with losses, filtered, damaged.
package unsure

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
	"hdb/internal/outfile"
)

// A Capture is a capture whose numbers are not those of its run.
type Capture struct {
	Name, Path string
	Says       string // what has to stand beside each number that is drawn from it
}

// Captures writes a capture that lost calls, one that was filtered and one that
// is damaged. Block #3 of each lives on, at 0x10060.
func Captures(t testing.TB) []Capture {
	t.Helper()
	dir := t.TempDir()
	all := []Capture{
		{"losses", filepath.Join(dir, "losses.hdb"), "1,234 calls are missing"},
		{"filter", filepath.Join(dir, "filter.hdb"), "only events with size > 23"},
		{"damage", filepath.Join(dir, "damage.hdb"), "the capture is damaged"},
	}
	write(t, all[0].Path, func(l *file.Log) {
		l.AddLoss(capture.Loss{After: 2, Count: 1234, Reason: capture.Reason{Kind: capture.RingFull}})
	})
	write(t, all[1].Path, func(l *file.Log) {
		info := l.Info()
		info.AddPartial(capture.Reason{Kind: capture.OnlyEvents, Text: "size > 23"})
		l.SetInfo(info)
	})
	write(t, all[2].Path, func(*file.Log) {})
	damage(t, all[2].Path)
	return all
}

// write writes a capture of 99 blocks, every second one given back. Stack 1 has
// a line of a source that is kept.
func write(t testing.TB, path string, change func(*file.Log)) {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/usr/bin/prog", PID: 42, Start: time.Unix(1e9, 0), Arch: "x86_64", Created: "hdb test"})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	id := log.Intern(capture.Stack{PCs: []addr.Run{0x1000, 0x2000}})
	log.AddThread(capture.Thread{TID: 42, Num: 1, Name: "prog"})
	for i := range 99 {
		e := capture.Event{Kind: capture.Alloc, Func: malloc, Addr: uint64(0x10000 + 32*i), Size: 24, TID: 42, Stack: id, Time: time.Duration(i) * time.Millisecond}
		log.AddEvent(&e)
		if i%2 == 1 {
			e.Kind, e.Func, e.Size, e.Ended = capture.Free, free, 0, capture.Ended{Size: 24, Stack: id, Recorded: true}
			log.AddEvent(&e)
		}
	}
	log.AddMark(capture.MarkRecord{Seq: 50, Name: "middle"})
	change(log)
	if err := file.Save(outfile.File{Path: path}, log, sourceLines{}); err != nil {
		t.Fatal(err)
	}
}

// sourceLines resolves all code to line 2 of prog.c.
type sourceLines struct{}

func (sourceLines) Resolve(addr.Run, bool, uint64) []capture.Frame {
	return []capture.Frame{{Function: "work", File: "/src/prog.c", Line: 2, Source: "dwarf", Language: "c"}}
}

func (sourceLines) GoType(addr.Code, uint64, capture.GoAux) (capture.GoType, bool) {
	return capture.GoType{}, false
}

func (sourceLines) SourceLine(string) ([]string, bool) {
	return []string{"// prog", "void work();"}, true
}

// damage changes bytes of a capture at its end, until a damage is known and its events
// can be read.
func damage(t testing.TB, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(b) - 1; at > 0; at-- {
		broken := append([]byte{}, b...)
		broken[at] ^= 0xff
		if err := os.WriteFile(path, broken, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := file.Open(path)
		if err != nil {
			continue
		}
		var d *capture.DamageError
		known := errors.As(f.Damage(), &d) && d.Events > 0
		f.Close()
		if known {
			return
		}
	}
	t.Fatal("no damage is known without reading all")
}
