package values

import (
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"

	"hdb/testprogs"
)

// noise is memory in which each address has a byte of its own, small numbers mostly.
type noise struct{}

func (noise) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		b[i] = byte(uint64(off+int64(i)) * 0x9e3779b97f4a7c15 >> 60)
	}
	return len(b), nil
}

// built compiles files of testdata to an object, and lists the addresses of its functions
// and their sizes.
func built(t testing.TB, compiler string, args ...string) (*symbols.Object, []elf.Symbol) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "built")
	if text, err := exec.Command(compiler, append(args, "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", compiler, args, err, text)
	}
	file, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	functions := slices.DeleteFunc(all, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || s.Size == 0
	})
	obj, err := symbols.Open(out, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { obj.Close() })
	return obj, functions
}

// frameIn is a frame at an address of an object, with registers at random.
func frameIn(r *rand.Rand, obj *symbols.Object, at addr.File, inlined int) *Frame {
	f := &Frame{Module: Module{Obj: obj}, PC: addr.PC(at.Run(0)), Inlined: inlined, CFA: addr.Run(r.Uint32())}
	for reg := unwind.RAX; reg <= unwind.RIP; reg++ {
		f.Regs.Set(reg, r.Uint64()>>(8*r.UintN(8)))
	}
	return f
}

// TestRememberedSites asks random expressions in frames at random places of programs, by
// a world that remembers places and one that does not.
func TestRememberedSites(t *testing.T) {
	testdata := func(name string) string { return filepath.Join("testdata", name) }
	for _, args := range [][]string{
		{"gcc", "-g", "-O2", testdata("moved.c")},
		{"gcc", "-g", "-O0", testdata("scopes/a.c"), testdata("scopes/b.c"), testdata("scopes/d.c"), testdata("scopes/bare.c")},
		{"g++", "-g", "-O1", testdata("bases.cc")},
	} {
		t.Run(filepath.Base(args[3]), func(t *testing.T) {
			obj, functions := built(t, args[0], args[1:]...)
			var version uint64
			program := func() *World {
				w := &World{}
				w.Mem = noise{}
				w.Modules = func() []Module { return []Module{{Obj: obj}} }
				return w
			}
			plain, remembering := program(), program()
			remembering.Version = func() uint64 { return version }
			r := rand.New(rand.NewPCG(1, 2))
			var places []*Frame
			for _, fn := range functions {
				for range 4 {
					at := addr.File(fn.Value + r.Uint64N(fn.Size))
					for inlined := range obj.DWARF.Scopes(at) {
						places = append(places, frameIn(r, obj, at, inlined))
					}
				}
			}
			if r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] }); len(places) > 300 {
				places = places[:300]
			}
			names := []string{"twice", "shared", "level", "BUSY", "limit", "no_such", "thrice", "argc", "helper"}
			for _, p := range places {
				for _, list := range []func(*Frame) ([]Variable, error){plain.Args, plain.Locals} {
					vars, _ := list(frameIn(r, obj, addr.File(p.PC.Lookup()), p.Inlined))
					for _, v := range vars {
						names = append(names, v.Name)
					}
				}
			}
			agreed := map[string]int{}
			for range testprogs.Rounds(1500, 6000) {
				p := places[r.IntN(len(places))]
				name := func() string { return names[r.IntN(len(names))] }
				src := []string{
					name() + " == 1", name() + " > 2 || !" + name(), "(long)" + name() + " & 3", "*" + name() + " != 0",
					name() + " != 7 && " + name() + " < 3", "&" + name() + " != 0", "sizeof(" + name() + ") == 4", "::" + name() + " == 2",
				}[r.IntN(8)]
				if r.IntN(20) == 0 {
					version++
				}
				seed := r.Uint64()
				holds := func(w *World) string {
					f := frameIn(rand.New(rand.NewPCG(seed, 0)), obj, addr.File(p.PC.Lookup()), p.Inlined)
					yes, err := w.Holds(f, src)
					return fmt.Sprint(yes, " ", err)
				}
				want, got := holds(plain), holds(remembering)
				if want != got {
					t.Fatalf("%s at %v, %d frames further in: %s, remembered %s", src, p.PC, p.Inlined, want, got)
				}
				agreed[want]++
			}
			if least := testprogs.Rounds(20, 100); agreed["true <nil>"] < least || agreed["false <nil>"] < least {
				t.Errorf("%d conditions held, %d did not", agreed["true <nil>"], agreed["false <nil>"])
			}
			if len(remembering.sites.known) == 0 {
				t.Error("no place was remembered")
			}
		})
	}
}

// TestRememberedNamesComeAndGo asks for a name that only a library has, while it is not loaded
// and when it is.
func TestRememberedNamesComeAndGo(t *testing.T) {
	program, functions := built(t, "gcc", "-g", filepath.Join("testdata", "moved.c"))
	library, _ := built(t, "gcc", "-g", "-shared", "-fPIC", filepath.Join("testdata", "scopes", "d.c"))
	r := rand.New(rand.NewPCG(3, 4))
	loaded, version := []Module{{Obj: program}}, uint64(0)
	w := &World{Version: func() uint64 { return version }}
	w.Mem, w.Modules = noise{}, func() []Module { return loaded }
	i := slices.IndexFunc(functions, func(s elf.Symbol) bool { return s.Name == "main" })
	ask := func() error {
		_, err := w.Holds(frameIn(r, program, addr.File(functions[i].Value), 0), "thrice == 3")
		return err
	}
	var none *NoSymbolError
	for range 2 {
		for range 2 {
			if err := ask(); !errors.As(err, &none) {
				t.Errorf("without the library: %v", err)
			}
		}
		loaded, version = append(loaded, Module{Obj: library, Bias: 0x10000}), version+1
		for range 2 {
			if err := ask(); err != nil {
				t.Errorf("with the library: %v", err)
			}
		}
		loaded, version = loaded[:1], version+1
	}
}

// BenchmarkHolds asks a condition again and again at one place.
func BenchmarkHolds(b *testing.B) {
	obj, functions := built(b, "gcc", "-g", "-O2", filepath.Join("testdata", "moved.c"))
	i := slices.IndexFunc(functions, func(s elf.Symbol) bool { return s.Name == "main" })
	r := rand.New(rand.NewPCG(5, 6))
	f := frameIn(r, obj, addr.File(functions[i].Value), 0)
	for _, version := range []func() uint64{nil, func() uint64 { return 0 }} {
		w := &World{Version: version}
		w.Mem, w.Modules = noise{}, func() []Module { return []Module{{Obj: obj}} }
		b.Run(fmt.Sprintf("remembered=%t", version != nil), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				at := *f
				if _, err := w.Holds(&at, "argc == 50"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
