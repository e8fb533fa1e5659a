package probe

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
)

// Three families of structures, as versions of CPython have them; see package python.
var (
	python38 = Python{Thread: 176, Frame: 24, Previous: 24, Code: 32, Instruction: 104, InstructionBits: 1<<32 - 1, Shim: 1<<32 - 1,
		Lines: 120, FirstLine: 40, Name: 112, Qualname: 112, File: 104, CodeSize: 176}
	python311 = Python{Thread: 152, OnStack: 56, CFrame: 56, Frame: 8, Previous: 48, Code: 32, Instruction: 56, InstructionBits: 1<<48 - 1,
		Mark: 68, MarkBits: 0xffff, Shim: 1<<32 - 1, Lines: 136, FirstLine: 72, Name: 120, Qualname: 128, File: 112, CodeSize: 192}
	python312 = Python{Thread: 136, OnStack: 56, CFrame: 56, Previous: 8, Instruction: 56, InstructionBits: 1<<48 - 1,
		Mark: 70, MarkBits: 0xff, Shim: 3, Lines: 136, FirstLine: 68, Name: 120, Qualname: 128, File: 112, CodeSize: 200}
)

// A fakePython is an interpreter's memory in a lab, with one thread.
type fakePython struct {
	l       *lab
	w       Python
	rand    *rand.Rand
	current addr.Run // the pointer to the state that holds the lock
	key     addr.Run // {is initialized, number}
	self    addr.Run // the thread's control block
	state   addr.Run
	loop    addr.Run // what the state refers to on the stack
	codes   []addr.Run
	objects []addr.Run // frames, to use again
	next    addr.Run   // where there is room
}

const fakeFrame = 128

// newFakePython makes one for a thread, nil: for another whose control block it has.
func newFakePython(l *lab, w Python, th *labThread) (*fakePython, *labThread) {
	f := &fakePython{l: l, w: w, rand: rand.New(rand.NewPCG(1, 2)), next: labAt + labIsland + islandSize/2}
	f.current, f.key, f.self, f.state = f.room(8), f.room(8), f.room(2048), f.room(256)
	f.w.Key = f.key
	if w.Shim > 255 {
		f.w.Current = f.current
	}
	if th == nil {
		th = f.thread()
	}
	f.loop = th.sp + 128
	l.poke(f.state+addr.Run(w.Thread), th.key)
	for range 40 {
		f.codes = append(f.codes, f.code())
	}
	for range maxPython + 10 {
		f.objects = append(f.objects, f.room(fakeFrame))
	}
	for at, v := range f.words() {
		l.setState(at, v)
	}
	return f, th
}

// count has code objects told apart by the counters of those that were freed.
func (f *fakePython) count() { f.l.setState(stPyFrees, uint64(f.l.remote.file)+fileFrees) }

// freed counts an object as freed, as freedThunk does.
func (f *fakePython) freed(code addr.Run) {
	at := f.l.shared.file[fileFrees+4*(uint64(code)*freeFactor>>(64-freeBits)):]
	binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+1)
}

func (f *fakePython) thread() *labThread {
	th := f.l.thread(2)
	th.key = uint64(f.self)
	slot := f.l.slotOf(th.key)
	binary.LittleEndian.PutUint64(slot[slKey:], th.key)
	binary.LittleEndian.PutUint32(slot[slTID:], th.tid)
	return th
}

// room takes n bytes of the island, apart from what the lab takes.
func (f *fakePython) room(n int) addr.Run {
	at := f.next
	f.next += addr.Run(n+15) &^ 15
	if f.next > labAt+labIsland+islandSize-4096 {
		f.l.t.Fatal("no room")
	}
	return at
}

// words are what FollowPython writes.
func (f *fakePython) words() map[int]uint64 {
	all := map[int]uint64{}
	for _, v := range f.w.words() {
		all[v.at] = v.v
	}
	return all
}

// text makes an ASCII str object with a header of 48 bytes.
func (f *fakePython) text(s string) addr.Run {
	at := f.room(72 + len(s) + 8)
	f.l.poke(at+16, uint64(len(s)))
	f.l.poke(at+24, f.rand.Uint64()) // its hash
	f.l.poke(at+32, 1<<6|1<<5|1<<2)
	copy(f.l.at(at+48), s)
	return at
}

func (f *fakePython) code() addr.Run {
	at := f.room(f.w.CodeSize + 8)
	n := f.rand.IntN(1000)
	f.l.poke(at+addr.Run(f.w.Name), uint64(f.text(fmt.Sprint("name", n))))
	f.l.poke(at+addr.Run(f.w.Qualname), uint64(f.text(fmt.Sprint("module.name", n))))
	f.l.poke(at+addr.Run(f.w.File), uint64(f.text(fmt.Sprintf("/srv/%0*d.py", 1+f.rand.IntN(300), n))))
	table := f.room(48 + 100)
	f.l.poke(table+16, 100)
	f.l.poke(at+addr.Run(f.w.Lines), uint64(table))
	binary.LittleEndian.PutUint32(f.l.at(at+addr.Run(f.w.FirstLine)), uint32(n))
	return at
}

// hold makes the thread the one that has the interpreter's lock, or another, or none.
func (f *fakePython) hold(own, other bool) {
	f.l.poke(f.current, 0)
	binary.LittleEndian.PutUint64(f.l.at(f.self+tsdValues+5<<tsdShift), uint64(f.state))
	f.l.poke(f.key, 1|5<<32)
	switch {
	case own:
		f.l.poke(f.current, uint64(f.state))
		binary.LittleEndian.PutUint64(f.l.at(f.self+tsdValues+5<<tsdShift), 0) // it is not asked
	case other:
		stranger := f.room(256)
		f.l.poke(stranger+addr.Run(f.w.Thread), 0x1234)
		f.l.poke(f.current, uint64(stranger))
	}
}

// run has the thread make calls, innermost first, and tells how they are seen.
func (f *fakePython) run(n int) (want []PythonCall) {
	l, next := f.l, addr.Run(0)
	for i := n - 1; i >= 0; i-- {
		at, code := f.objects[i], f.codes[f.rand.IntN(len(f.codes))]
		clear(l.at(at)[:fakeFrame])
		c := PythonCall{
			Code: code, Instruction: f.rand.Uint64() & f.w.InstructionBits, Mark: uint16(f.rand.IntN(3)) & f.w.MarkBits,
		}
		if f.w.Shim < 256 && i%4 == 3 {
			c = PythonCall{Mark: uint16(f.w.Shim)}
		}
		l.poke(at+addr.Run(f.w.Instruction), c.Instruction|^f.w.InstructionBits)
		if f.w.MarkBits != 0 {
			binary.LittleEndian.PutUint16(l.at(at+addr.Run(f.w.Mark)), c.Mark|uint16(f.rand.Uint32())&^f.w.MarkBits)
		}
		l.poke(at+addr.Run(f.w.Code), uint64(code))
		if c.Code == 0 {
			l.poke(at+addr.Run(f.w.Code), uint64(f.self)) // None, of which nothing is read
		}
		l.poke(at+addr.Run(f.w.Previous), uint64(next))
		next = at
		want = append(want, c)
	}
	slices.Reverse(want)
	from := f.state
	if f.w.CFrame != 0 {
		from = f.loop
		l.poke(f.state+addr.Run(f.w.CFrame), uint64(from))
	}
	l.poke(from+addr.Run(f.w.Frame), uint64(next))
	return want
}

// sameCalls compares calls, but for the IDs of their code objects, which are the core's.
func sameCalls(a, b []PythonCall) bool {
	return slices.EqualFunc(a, b, func(a, b PythonCall) bool {
		a.ID = b.ID
		return a == b
	})
}

// The calls of Python that a thread is in are those of its stack, whether it holds the
// interpreter's lock or not.
func TestPythonCalls(t *testing.T) {
	for name, w := range map[string]Python{"3.8": python38, "3.11": python311, "3.12": python312} {
		for _, way := range []uint64{enabled, quickEnabled} {
			for _, counted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,way=%d,counted=%v", name, way, counted), func(t *testing.T) { pythonCalls(t, w, way, counted) })
			}
		}
	}
}

func pythonCalls(t *testing.T, w Python, way uint64, counted bool) {
	l := newLab(t, Request{Record: true})
	f, th := newFakePython(l, w, nil)
	if counted {
		f.count()
	}
	l.setState(stEnabled, way)
	l.tables.end = fileTables
	th.sp -= 16 << 10
	m, _ := l.plainStack(th, 6)
	event := func() (capture.StackID, capture.Stack) {
		st := m.walked()
		return l.events[len(l.events)-1].Stack, st
	}
	check := func(when string, want []PythonCall) capture.StackID {
		t.Helper()
		id, native := event()
		calls, ok := l.notebook.with[id]
		switch {
		case !slices.Equal(native.PCs, m.want.PCs):
			t.Fatalf("%s: native frames %v, want %v", when, native.PCs, m.want.PCs)
		case ok != (want != nil):
			t.Fatalf("%s: calls of Python: %v, want %v", when, ok, want != nil)
		case ok && !sameCalls(l.notebook.python[calls], want):
			t.Fatalf("%s: calls\n%v, want\n%v", when, l.notebook.python[calls], want)
		}
		return id
	}
	f.hold(true, false)
	if f.w.Current == 0 {
		f.hold(false, false)
	}
	f.run(0)
	check("no frame", nil)
	for n := 1; n < 60; n += 7 {
		want := f.run(n)
		id := check("first", want)
		published := l.shared.word(hdNew).Load()
		if again := check("again", want); again != id || l.shared.word(hdNew).Load() != published {
			t.Fatalf("the same calls have stack %d and then %d", id, again)
		}
		for _, who := range []string{"nobody", "another"} {
			f.hold(false, who == "another")
			if again := check(who+" holds the lock", want); again != id {
				t.Fatalf("%s holds the lock: stack %d, want %d", who, again, id)
			}
		}
		if f.w.Current != 0 {
			f.hold(true, false)
		}
		at := f.objects[f.rand.IntN(n)]
		ip := at + addr.Run(f.w.Instruction)
		old := l.peek(ip)
		l.poke(ip, old^2)
		other, _ := event()
		if calls := l.notebook.python[l.notebook.with[other]]; other == id && l.peek(at+addr.Run(f.w.Code)) != uint64(f.self) || len(calls) != n {
			t.Fatalf("another instruction: stack %d of %d calls, before %d of %d", other, len(calls), id, n)
		}
		l.poke(ip, old)
	}

	// A state that this thread has made may be run by another, on that one's stack.
	if f.w.OnStack != 0 {
		own := f.loop
		f.loop = th.sp - 4096
		f.run(3)
		check("another thread's stack", nil)
		f.loop = own
	}

	// Another code object at the place of one is another function.
	want := f.run(1)
	id := check("a code object", want)
	name, table := addr.Run(l.peek(want[0].Code+addr.Run(f.w.Name))), addr.Run(l.peek(want[0].Code+addr.Run(f.w.Lines)))
	for what, at := range map[string]addr.Run{
		"first line": want[0].Code + addr.Run(f.w.FirstLine), "name's hash": name + 24, "table's length": table + 16, "table": table + 32,
	} {
		if counted {
			break
		}
		old := l.peek(at)
		l.poke(at, old^1)
		if check("another "+what, want) == id {
			t.Errorf("a code object at the same place with another %s has the stack of the first", what)
		}
		l.poke(at, old)
	}
	if check("the same code object", want) != id {
		t.Error("the same code object has another stack than before")
	}
	if counted {
		f.freed(want[0].Code)
		id = check("another code object", want)
		told := l.notebook.codes[l.notebook.python[l.notebook.with[id]][0].ID]
		if told == nil || told[0].At != want[0].Code {
			t.Error("the code object that has the memory of one that was freed was not told of")
		}
		l.setState(stPyEpoch, 1<<32)
		if check("another epoch", want) == id {
			t.Error("a code object has the same stack after others were freed uncounted")
		}
	}
	for _, c := range l.notebook.codes {
		if c[0].At == want[0].Code {
			continue // its memory was changed
		}
		if len(c[0].Bytes) != (f.w.CodeSize+7)&^7 || !slices.Equal(c[0].Bytes[:f.w.FirstLine], l.at(c[0].At)[:f.w.FirstLine]) {
			t.Fatalf("code object %v is told as % x", c[0].At, c[0].Bytes)
		}
		for i, at := range []int{f.w.Name, f.w.Qualname, f.w.File, f.w.Lines} {
			p := c[i+1]
			if uint64(p.At) != binary.LittleEndian.Uint64(c[0].Bytes[at:]) || !slices.Equal(p.Bytes, l.at(p.At)[:len(p.Bytes)]) {
				t.Fatalf("code object %v: piece %d at %v differs", c[0].At, i+1, p.At)
			}
			if n := int(l.peek(p.At + 16)); len(p.Bytes) < 33+n {
				t.Fatalf("code object %v: piece %d has %d bytes of a text of %d", c[0].At, i+1, len(p.Bytes), n)
			}
		}
	}
	for _, calls := range l.notebook.python {
		for _, c := range calls {
			if told := l.notebook.codes[c.ID]; c.Code != 0 && (told == nil || told[0].At != c.Code) {
				t.Fatalf("code object %v was not told of", c.Code)
			}
		}
	}

	// More calls than are told.
	deep := f.run(maxPython + 5)
	check("deep", append(deep[:maxPython:maxPython], PythonCall{Instruction: 1}))

	// A thread that has left Python, and one that never was there.
	f.hold(false, false)
	l.poke(f.key, 0)
	check("the key is gone", nil)
	l.poke(f.key, 1|40<<32)
	check("a key beyond those in the thread's first block", nil)
	l.poke(f.key, 1|6<<32)
	check("no value", nil)
	if lost := l.shared.word(hdLostPy).Load(); lost != 0 {
		t.Errorf("calls of %d events were lost", lost)
	}
}

// The thunk that frees a code object counts by its place, when the function has returned.
func TestFreedThunk(t *testing.T) {
	l := newLab(t, Request{Record: true})
	code := uint64(0x7f1234567890)
	counter := func() uint32 {
		at := code * freeFactor >> (64 - freeBits)
		return binary.LittleEndian.Uint32(l.shared.file[fileFrees+4*at:])
	}
	w, inside := freedThunk(l.room(64), l.site("free").relocated, l.remote.file+fileFrees)
	copy(l.at(w.at), w.code)
	th := l.thread(1)
	th.sp -= 8
	l.poke(th.sp, uint64(l.newStack(th, 1).code()))
	sp := th.sp
	th.regs[rdi] = code
	before := th.regs
	if exit := th.run(w.at); exit != l.site("free").index {
		t.Fatalf("exit %d", exit)
	}
	ret := addr.Run(l.peek(th.sp))
	switch {
	case counter() != 0:
		t.Error("it counts before the memory is free")
	case th.regs[rdi] != code:
		t.Errorf("the function gets %#x", th.regs[rdi])
	case th.sp != sp-16 || ret <= inside[0] || ret >= inside[1]:
		t.Errorf("the function is called %v below, to return to %v, want between %v and %v", sp-th.sp, ret, inside[0], inside[1])
	}
	th.check(before)
	th.sp += 8
	if exit := th.run(ret); exit != exitReturn || th.sp != sp+8 || counter() != 1 {
		t.Errorf("exit %d %#x above, counted %d times", exit, th.sp-sp, counter())
	}
}
