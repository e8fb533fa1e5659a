package edit

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// typed is a capture of a Go program that is replaced by another one at the same addresses.
func typed(t *testing.T) *file.File {
	t.Helper()
	log := file.NewLog(capture.Info{Program: "/bin/prog", Arch: "x86_64", PID: 42})
	first := log.AddModule(capture.Module{Path: "/bin/prog", Low: 0x400000, High: 0x402000})
	fn := log.FuncIndex("runtime.mallocgc")
	stack := log.Intern(capture.Stack{PCs: []addr.Run{0x400123, 0x400456}})
	for i := range 20 {
		if i == 10 {
			log.EndModule(first, 11)
			log.Replaced()
			log.AddModule(capture.Module{Path: "/bin/next", Low: 0x400000, High: 0x402000, From: 11})
		}
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: fn, Addr: uint64(0x1000 + 64*i), Size: 64, TID: 42, Stack: stack, Aux: uint64(capture.GoAuxOfWord(uint32(1+i%3))) | 7})
	}
	var b bytes.Buffer
	if err := file.WriteSource(&b, log, capturetest.FakeSymbols{From: log}); err != nil {
		t.Fatal(err)
	}
	return opened(t, b.Bytes())
}

func opened(t *testing.T, b []byte) *file.File {
	t.Helper()
	f, err := file.NewFile("test.hdb", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// typesOf are the types of the allocations of a capture.
func typesOf(f *file.File) (all []string) {
	for e := range f.Events(0) {
		if e.Kind == capture.Alloc {
			typ, _ := f.GoType(f.Stack(e.Stack).Code(0), e.Seq, capture.GoAux(e.Aux))
			all = append(all, typ.Name)
		}
	}
	return all
}

// TestTypesOfNewCaptures has new captures keep the types of Go that those they are made of have, of
// each program that ran, under made-up names if others are.
func TestTypesOfNewCaptures(t *testing.T) {
	var all, masked []string
	numbers := map[string]int{}
	for i := range 20 {
		path := "/bin/prog"
		if i >= 10 {
			path = "/bin/next"
		}
		name := fmt.Sprintf("%s.T%x", path, 1+i%3)
		all = append(all, name)
		numbers[name] = 0
		masked = append(masked, "")
	}
	if got := typesOf(typed(t)); fmt.Sprint(got) != fmt.Sprint(all) {
		t.Fatalf("the capture has %q", got)
	}
	for name, c := range map[string]struct {
		make func(io.Writer, *file.File) error
		want []string
	}{
		"repair": {func(w io.Writer, f *file.File) error { _, err := Repair(w, f); return err }, all},
		"trim":   {func(w io.Writer, f *file.File) error { _, err := Trim(w, f, 5, 15); return err }, all[4:15]},
		"functions": {func(w io.Writer, f *file.File) error {
			_, err := Anonymize(w, f, Anonymity{KeepFunctions: true})
			return err
		}, all},
		"merge": {func(w io.Writer, f *file.File) error {
			_, err := Merge(w, []*file.File{f, typed(t)})
			return err
		}, nil},
		"anonymize": {func(w io.Writer, f *file.File) error {
			_, err := Anonymize(w, f, Anonymity{Function: func(name string) string {
				if capture.OfGo(name) {
					return name
				}
				return ""
			}})
			return err
		}, masked},
	} {
		var b bytes.Buffer
		if err := c.make(&b, typed(t)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := typesOf(opened(t, b.Bytes()))
		switch name {
		case "merge": // events of both, in some order
			count := map[string]int{}
			for _, typ := range got {
				count[typ]++
			}
			for typ := range numbers {
				want := 0
				for _, a := range all {
					if a == typ {
						want += 2
					}
				}
				if count[typ] != want {
					t.Errorf("merge: %d of %q, want %d", count[typ], typ, want)
				}
			}
		case "anonymize":
			made := map[string]string{}
			for i, typ := range got {
				if want, ok := made[all[i]]; ok && want != typ || len(typ) != len("type1") || typ[:4] != "type" {
					t.Errorf("anonymize: %q is %q", all[i], typ)
				}
				made[all[i]] = typ
			}
			if len(made) != len(numbers) {
				t.Errorf("anonymize: %v", made)
			}
		default:
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}
