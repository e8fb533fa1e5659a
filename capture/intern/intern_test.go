package intern

import (
	"reflect"
	"testing"

	"hdb/capture"
	"hdb/internal/addr"
)

func TestStacks(t *testing.T) {
	at := func(pcs ...addr.Run) capture.Stack { return capture.Stack{PCs: pcs} }
	cut := at(1, 2, 3)
	cut.Truncated = "no rule"
	guessed := at(1, 2, 3)
	guessed.Guess = []bool{false, true, false}
	s := NewStacks()
	for i, st := range []capture.Stack{at(1, 2, 3), at(2, 3), at(1, 3), cut, guessed, at(9, 2, 3)} {
		id, added := s.Intern(st)
		if int(id) != i+1 || !added {
			t.Errorf("%v: ID %d, added %v", st, id, added)
		}
		if again, added := s.Intern(st); again != id || added {
			t.Errorf("%v again: ID %d, added %v", st, again, added)
		}
		if got := s.Stack(id); !reflect.DeepEqual(got, st) {
			t.Errorf("stack %d is %v, want %v", id, got, st)
		}
	}
	if s.Len() != 6 || s.Reasons() != 2 || s.Frames() != 8 {
		t.Errorf("%d stacks, %d reasons, %d frames", s.Len(), s.Reasons(), s.Frames())
	}
	if id := s.Add(at(2, 3)); id != 7 || !reflect.DeepEqual(s.Stack(7), at(2, 3)) {
		t.Errorf("added as %d: %v", id, s.Stack(id))
	}
}

// Frames of a module differ from those of a module that had its addresses before.
func TestOccupy(t *testing.T) {
	s := NewStacks()
	old := capture.Stack{PCs: []addr.Run{0x10, 0x100}}
	first, _ := s.Intern(old)
	before := s.Clone()
	s.Occupy(0x100, 0x200, 2)
	second, added := s.Intern(old)
	if second == first || !added {
		t.Errorf("the stack of the later module is %d, was %d", second, first)
	}
	if third, _ := s.Intern(old); third != second {
		t.Errorf("again %d, was %d", third, second)
	}
	if id, added := before.Intern(old); id != first || added {
		t.Errorf("in the clone %d, was %d", id, first)
	}
}

func TestTables(t *testing.T) {
	var numbers Table[uint32]
	numbers.Reset()
	for i := range uint32(1000) {
		if v, found := numbers.At(i*7, int32(i)); v != int32(i) || found {
			t.Fatalf("%d: %d, found %v", i*7, v, found)
		}
	}
	for i := range uint32(1000) {
		if v, found := numbers.At(i*7, -1); v != int32(i) || !found {
			t.Fatalf("%d: %d, found %v", i*7, v, found)
		}
	}
	if numbers.Len != 1000 {
		t.Errorf("%d numbers", numbers.Len)
	}
	var x Index
	if x.Known(5) != NoNumber {
		t.Error("a number of a stack that has none")
	}
	for _, id := range []capture.StackID{5, denseStacks + 9} {
		*x.Slot(id) = uint32(id)
		if *x.Slot(id) != uint32(id) {
			t.Errorf("number of %d is %d", id, *x.Slot(id))
		}
	}
}
