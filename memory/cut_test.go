package memory

import (
	"context"
	"errors"
	"testing"

	"hdb/heap/golang"
	"hdb/heap/regions"
)

// zeros is memory without anything; read is called before each read.
type zeros struct{ read func() }

func (z zeros) ReadAt(b []byte, _ int64) (int, error) {
	z.read()
	clear(b)
	return len(b), nil
}

// TestReadingGivenUp: what was read of a heap when the question was given up is not kept, and the
// next question has the heap read anew.
func TestReadingGivenUp(t *testing.T) {
	for name, open := range map[string]func(*Image) error{
		"glibc":    func(m *Image) error { _, err := m.Heap(); return err },
		"jemalloc": func(m *Image) error { _, err := m.Jemalloc(); return err },
		"Go":       func(m *Image) error { _, err := m.Go(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			bound, cancel := context.WithCancel(t.Context())
			asked := 0
			m := New(Source{
				Memory: zeros{cancel},
				Libcs:  []string{"libc.so.6"},
				Space:  regions.Source{Mappings: []regions.Mapping{{Start: 1 << 20, End: 1<<20 + 1<<24, Perm: "rw-p", Path: "libc.so.6"}, {Start: 1 << 28, End: 1<<28 + 1<<24, Perm: "rw-p"}}},
				Go: func() (golang.Source, error) {
					return golang.Source{Heap: 1 << 20, Modules: 1 << 20, AllGs: 1 << 20}, nil
				},
				Threads: []Thread{{TID: 1, FS: 1 << 28}},
				Bound:   func() (context.Context, func()) { asked++; return bound, func() {} },
			})
			if name == "jemalloc" {
				cancel() // it finds nowhere to read
			}
			if err := open(m); !errors.Is(err, context.Canceled) {
				t.Errorf("given up in the middle: %v", err)
			}
			bound = t.Context()
			if err := open(m); err == nil || errors.Is(err, context.Canceled) || asked != 2 {
				t.Errorf("asked again: %v, and the heap was read %d times", err, asked)
			}
			if err := open(m); err == nil || asked != 2 {
				t.Errorf("what was read to the end is not kept: %v, and the heap was read %d times", err, asked)
			}
		})
	}
}
