package symbols

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"hdb/internal/addr"
	"hdb/testprogs"
	"hdb/unwind"
)

// TestGoSwitches finds the places where stacks change in programs with and without symbols.
// Without cgo there is none where C calls Go. That the rows are right shows testprogs/golang for
// each version of Go.
func TestGoSwitches(t *testing.T) {
	whole := map[addr.File]unwind.Switch{}
	for _, flags := range [][]string{nil, {"-ldflags=-s -w"}, {"-ldflags=-w"}, {"-buildmode=pie", "-ldflags=-s -w"}} {
		o, err := Open(testprogs.Build(t, "golang", flags...), Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Close() })
		table, err := o.CFI()
		if err != nil {
			t.Fatal(err)
		}
		kinds, found := map[unwind.SwitchKind]int{}, map[addr.File]unwind.Switch{}
		for _, row := range table.Switches() {
			kinds[row.Switch.Kind]++
			found[row.Low] = row.Switch
			if got, ok := table.RowAt(row.Low); !ok || got.Switch != row.Switch {
				t.Errorf("%v: the row at %v is %+v", flags, row.Low, got.Switch)
			}
			if row.Switch.Kind == unwind.GoroutineEnd && (row.Switch.Creator == 0 || row.Switch.ID == 0) {
				t.Errorf("%v: where a goroutine has what made it is not known", flags)
			}
		}
		if kinds[unwind.NoSwitch] < 5 {
			t.Errorf("%v: %d calls of functions without a caller", flags, kinds[unwind.NoSwitch])
		}
		delete(kinds, unwind.NoSwitch)
		if want := map[unwind.SwitchKind]int{unwind.ToGoroutine: 2, unwind.FromGoroutine: 1, unwind.GoroutineEnd: 1}; !reflect.DeepEqual(kinds, want) {
			t.Errorf("%v: kinds of rows %v, want %v", flags, kinds, want)
		}
		if flags == nil {
			whole = found
		} else if len(flags) == 1 && !reflect.DeepEqual(whole, found) {
			t.Errorf("%v: rows\n%+v, want\n%+v", flags, found, whole)
		}
	}
}

// TestGoSwitchesHostile reads instructions at random: whatever rows come of it, they belong to calls.
func TestGoSwitchesHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := [][]byte{
		{0x48, 0x83, 0xe4, 0xf0},         // and $-16,%rsp
		{0x48, 0x89, 0x7c, 0x24, 0x30},   // mov %rdi,0x30(%rsp)
		{0x48, 0x89, 0x7c, 0x24, 0x28},   // mov %rdi,0x28(%rsp)
		{0x48, 0x89, 0x54, 0x24, 0x28},   // mov %rdx,0x28(%rsp)
		{0xff, 0xd0}, {0xe8, 1, 2, 3, 4}, // call
		{0x48, 0x89, 0xfc},               // mov %rdi,%rsp
		{0x48, 0x83, 0xec, 0x30}, {0x55}, // sub $0x30,%rsp; push %rbp
		{0x48, 0x89, 0x6c, 0x24, 0x28}, {}, // mov %rbp,0x28(%rsp)
		{0x48, 0x8b, 0x62, 0x38},               // mov 0x38(%rdx),%rsp
		{0x48, 0x81, 0xec, 255, 255, 255, 127}, // sub
	}
	for range 20000 {
		var code []byte
		for range r.IntN(20) {
			if r.IntN(8) == 0 {
				code = append(code, byte(r.Uint32()))
				continue
			}
			code = append(code, pieces[r.IntN(len(pieces))]...)
		}
		list := decode(code)
		for _, read := range []func([]instruction, func(int, unwind.Row)){callsOfC, callOfGo, callFromC, func(list []instruction, put func(int, unwind.Row)) {
			callOnSystemStack(list, unwind.Row{}, put)
		}} {
			read(list, func(at int, _ unwind.Row) {
				if at < 2 || at > len(code) {
					t.Fatalf("% x: a row at %d", code, at)
				}
			})
		}
	}
}
