package probe

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// Python says where the core finds the calls of Python that a thread is in, in the form of
// python.Walk: offsets if nothing else is said.
type Python struct {
	Current                     addr.Run // address
	Key                         addr.Run // address
	Thread, OnStack             int
	CFrame, Frame               int
	Previous, Code, Instruction int
	InstructionBits             uint64
	Mark                        int
	MarkBits                    uint16
	Shim                        uint32
	Lines, FirstLine            int
	Name, Qualname, File        int      // in a code object: pointers to texts
	Freed                       addr.Run // address of the pointer to what frees a code object, 0 unknown
	CodeSize                    int      // of a code object
}

// A PythonCall is what the core reads of one.
type PythonCall struct {
	Code        addr.Run
	Instruction uint64
	Mark        uint16
	ID          uint64 // of the code object: another may have its place later
}

// PythonID names calls of Python that a Sink keeps.
type PythonID uint32

// FollowPython adds the calls of Python to the stacks of events; with nil they are left out. All
// code objects are sent again.
func (p *Probe) FollowPython(w *Python) error {
	if w == nil {
		return errors.Join(p.poke(stPython, 0), p.freed.lift())
	}
	p.shared.empty(fileCodes, 8<<codeBits)
	counted, err := p.freed.follow(w.Freed)
	if err != nil {
		return fmt.Errorf("probe: code objects of Python: %w", err)
	}
	for _, v := range append(p.freed.words(counted), w.words()...) {
		if err := p.poke(v.at, v.v); err != nil {
			return fmt.Errorf("probe: calls of Python: %w", err)
		}
	}
	return nil
}

// A stateWord is a word of the state page.
type stateWord struct {
	at int
	v  uint64
}

// words are what the core finds calls by, in the order of writing: until it has read the
// last it looks at no other.
func (w *Python) words() []stateWord {
	how := uint64(pyKept)
	if w.Current != 0 {
		how = pyCurrent
	}
	return []stateWord{
		{stPyState, uint64(w.Current)}, {stPyKey, uint64(w.Key)}, {stPyThread, uint64(w.Thread)}, {stPyOnStack, uint64(w.OnStack)},
		{stPyCFrame, uint64(w.CFrame)}, {stPyFrame, uint64(w.Frame)},
		{stPyPrevious, uint64(w.Previous)}, {stPyCode, uint64(w.Code)}, {stPyInstr, uint64(w.Instruction)}, {stPyMask, w.InstructionBits},
		{stPyMark, uint64(w.Mark)}, {stPyMarks, uint64(w.MarkBits)},
		{stPyLines, uint64(w.Lines)}, {stPyFirst, uint64(w.FirstLine)}, {stPyName, uint64(w.Name)}, {stPyQualname, uint64(w.Qualname)},
		{stPyFile, uint64(w.File)}, {stPyCodeWords, uint64(w.CodeSize+7) / 8},
		{stPython, how | uint64(w.Shim)<<32},
	}
}

// A PythonPiece is memory of the process as it was.
type PythonPiece struct {
	At    addr.Run
	Bytes []byte
}

// codePieces is how many pieces describe a code object: itself, its name, qualified name, file and
// line table.
const codePieces = 5

// takeCode handles a code object that was not told of lately.
func (ks *stackTable) takeCode(words []uint64) {
	const heads = 2 + 2*codePieces
	if len(words) < heads {
		return
	}
	var pieces [codePieces]PythonPiece
	data := words[heads:]
	for i := range pieces {
		at, n := words[2+2*i], words[3+2*i]
		if n > uint64(len(data)) {
			return // whatever the inferior writes
		}
		b := make([]byte, 0, 8*n)
		for _, w := range data[:n] {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		pieces[i], data = PythonPiece{addr.Run(at), b}, data[n:]
	}
	if ks.r.p.cfg.Sink.PythonCode(words[1], pieces[:]) {
		ks.r.p.shared.empty(fileCodes, 8<<codeBits)
	}
}

// takePython handles calls of Python that were not sent lately.
func (ks *stackTable) takePython(head uint64, words []uint64) {
	if _, known := ks.python[words[2]]; known {
		return // they were sent before, or looked for ahead
	}
	count := int(head >> countShift & 0xfff)
	ks.calls = ks.calls[:0]
	for w := words[4:]; len(ks.calls) < count; w = w[3:] {
		ks.calls = append(ks.calls, PythonCall{
			Code: addr.Run(w[0]), Instruction: w[1] & (1<<pyMarkShift - 1), Mark: uint16(w[1] >> pyMarkShift),
			ID: w[2],
		})
	}
	if len(ks.python) == maxPythonStacks {
		clear(ks.python)
	}
	ks.python[words[2]] = ks.r.p.cfg.Sink.Python(ks.calls, words[3] != 0)
}

// takePair handles a stack that is another with calls of Python.
func (ks *stackTable) takePair(head uint64, words []uint64) {
	number := uint32(head >> stackShift)
	if number >= 1<<stackBits {
		return
	}
	of := uint32(words[2])
	if of >= 1<<stackBits {
		return
	}
	native := ks.byNumber[of]
	if native == 0 {
		native = ks.await(of, false)
	}
	calls, ok := ks.python[words[1]]
	if !ok || native == 0 {
		ks.byNumber[number] = native // what is known of it
		return
	}
	ks.byNumber[number] = ks.r.p.cfg.Sink.WithPython(native, calls)
}

// maxPythonStacks bounds what is kept of calls by their hashes. The core sends calls again
// that it has not sent lately; those that it has are among the last.
const maxPythonStacks = 1 << 22
