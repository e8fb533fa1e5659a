package values

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/testprogs"
	"hdb/unwind"
)

// reads is what a spot holds in a frame, extended to 64 bits.
func (s Spot) reads(f *Frame) uint64 {
	at := s.Addr
	v, _ := f.Regs.Get(s.Reg)
	switch s.Kind {
	case OnStack, Pointed:
		at = addr.Run(v + uint64(s.Disp))
		fallthrough
	case Static:
		b := make([]byte, s.Size)
		_, _ = noise{}.ReadAt(b, int64(at)) // it reads everything
		v = decodeUint(b)
	}
	if v = truncate(v, s.Size); s.Signed {
		return uint64(signExtend(v, uint(8*s.Size)))
	}
	return v
}

// says is what a Decidable says of a frame, from left to right.
func (d Decidable) says(f *Frame) (holds, known bool) {
	switch d.Op {
	case "":
		return false, false
	case "!":
		holds, known = d.Parts[0].says(f)
		return !holds, known
	case "&&", "||":
		for _, p := range d.Parts {
			if holds, known = p.says(f); !known || holds == (d.Op == "||") {
				break
			}
		}
		return holds, known
	}
	if v, _ := f.Regs.Get(d.Spot.Reg); d.Spot.Kind == Pointed && int64(v+uint64(d.Spot.Disp)) < 0 {
		return false, false // no address: it faults
	}
	a, b := d.Spot.reads(f), d.With
	if d.Spot.Signed {
		a, b = a^1<<63, b^1<<63
	}
	return map[string]bool{"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[d.Op], true
}

// TestDecide asks random conditions at random places of programs of what can be decided there,
// and of what evaluates them.
func TestDecide(t *testing.T) {
	testdata := func(name string) string { return filepath.Join("testdata", name) }
	for _, args := range [][]string{
		{"gcc", "-g", "-O2", testdata("moved.c")},
		{"gcc", "-g", "-O0", testdata("plain.c")},
		{"gcc", "-g", "-O0", "-fomit-frame-pointer", testdata("moved.c")},
		{"gcc", "-g", "-O1", testdata("scopes/a.c"), testdata("scopes/b.c"), testdata("scopes/d.c"), testdata("scopes/bare.c")},
		{"g++", "-g", "-O1", testdata("bases.cc")},
	} {
		t.Run(fmt.Sprint(args[2], " ", filepath.Base(args[len(args)-1])), func(t *testing.T) {
			obj, functions := built(t, args[0], args[1:]...)
			table, err := obj.CFI()
			if err != nil {
				t.Fatal(err)
			}
			w := &World{}
			w.Mem, w.Modules = noise{}, func() []Module { return []Module{{Obj: obj}} }
			r := rand.New(rand.NewPCG(8, 9))
			kinds := map[SpotKind]int{}
			decided, held := 0, 0
			for range testprogs.Rounds(1500, 15000) {
				fn := functions[r.IntN(len(functions))]
				at := addr.File(fn.Value + r.Uint64N(fn.Size))
				row, ok := table.RowAt(at)
				scopes := obj.DWARF.Scopes(at)
				if !ok || row.CFA.Kind != unwind.Register || len(scopes) == 0 {
					continue
				}
				rule := CFARule{row.CFA.Reg, row.CFA.Offset}
				frame := func() *Frame { return placedFrame(r, obj, at, r.IntN(len(scopes)), rule) }
				f := frame()
				src := randomCondition(r, w, f)
				d := w.Decide(f, rule, src)
				for range 4 {
					now := frame()
					now.Inlined = f.Inlined
					holds, known := d.says(now)
					if !known {
						continue
					}
					decided++
					real, err := w.Holds(now, src)
					if err != nil || real != holds {
						t.Fatalf("%s at %v, CFA %v: decided %v, is %v, %v\n%+v", src, at, rule, holds, real, err, d)
					}
					if holds {
						held++
					}
				}
				d.count(kinds)
			}
			t.Logf("%d decided, %d held, %v", decided, held, kinds)
			if decided < 200 || held < 20 || kinds[OnStack]+kinds[InRegister] == 0 {
				t.Errorf("%d decided, %d held, %v", decided, held, kinds)
			}
		})
	}
}

func (d Decidable) count(kinds map[SpotKind]int) {
	for _, p := range d.Parts {
		p.count(kinds)
	}
	if d.Op != "" && d.Parts == nil {
		kinds[d.Spot.Kind]++
	}
}

// placedFrame is a frame as it is at the place, with registers at random.
func placedFrame(r *rand.Rand, obj *symbols.Object, at addr.File, inlined int, rule CFARule) *Frame {
	f := frameIn(r, obj, at, inlined)
	f.Regs.Set(unwind.RSP, 1<<40+r.Uint64N(1<<20)*16)
	f.Regs.Set(unwind.RBP, 1<<40+r.Uint64N(1<<20)*16)
	base, _ := f.Regs.Get(rule.Reg)
	f.CFA = addr.Run(base + uint64(rule.Offset))
	return f
}

// randomCondition is about the variables of a frame and some others.
func randomCondition(r *rand.Rand, w *World, f *Frame) string {
	names := []string{"twice", "shared", "level", "BUSY", "limit", "argc", "$rdi", "$eax", "$x", "c"}
	for _, list := range []func(*Frame) ([]Variable, error){w.Args, w.Locals} {
		vars, _ := list(f)
		for _, v := range vars {
			names = append(names, v.Name, v.Name)
			if fields := v.Value.Type.Strip().Fields(); len(fields) > 0 {
				names = append(names, v.Name+"."+fields[r.IntN(len(fields))].Name)
			}
			if e := v.Value.Type.Strip(); e.Kind == Pointer {
				names = append(names, "*"+v.Name, v.Name+"[1]")
				if fields := e.Elem().Strip().Fields(); len(fields) > 0 {
					names = append(names, v.Name+"->"+fields[r.IntN(len(fields))].Name)
				}
			}
		}
	}
	constants := []string{"0", "1", "-1", "3", "'a'", "50u", "5ul", "0x7fffffff", "0x80000000", "4294967295", "-2147483649", "255", "-128", "~0", "1 << 3", "BUSY", "(char)200", "true"}
	comparison := func() string {
		name, op := names[r.IntN(len(names))], []string{"==", "!=", "<", "<=", ">", ">="}[r.IntN(6)]
		switch c := constants[r.IntN(len(constants))]; r.IntN(8) {
		case 0:
			return name
		case 1:
			return "!" + name
		case 2:
			return c + op + name
		default:
			return name + op + c
		}
	}
	src := comparison()
	for range r.IntN(3) {
		src = "(" + src + ")" + []string{" && ", " || "}[r.IntN(2)] + comparison()
	}
	return src
}
