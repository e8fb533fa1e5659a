package recording

import (
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/unwind"
)

// probeStacks are the stacks that the probe has sent, by their number there.
// Those of no recorded event stay out of the recording: of events that the
// filter leaves out, of blocks that an allocator frees for itself.
type probeStacks struct {
	ids     []int32         // by number: in the recording, or, not there, the number among waiting below 0
	waiting []capture.Stack // from 1: those that are not there
	spare   []int32         // places in waiting that are free, with room for PCs
}

// add keeps a stack that events will refer to. Most are recorded at once, so that
// their memory serves the next ones.
func (k *probeStacks) add(st capture.Stack) capture.StackID {
	k.ids = append(k.table(), k.wait(st))
	return capture.StackID(len(k.ids) - 1)
}

// wait keeps a stack that is not in the recording, and is its number in ids.
func (k *probeStacks) wait(st capture.Stack) int32 {
	if len(k.spare) == 0 {
		k.spare = append(k.spare, int32(max(len(k.waiting), 1)))
		k.waiting = append(k.waiting, make([]capture.Stack, int(k.spare[0])+1-len(k.waiting))...)
	}
	at := k.spare[len(k.spare)-1]
	k.spare = k.spare[:len(k.spare)-1]
	st.PCs = append(k.waiting[at].PCs[:0], st.PCs...)
	k.waiting[at] = st
	return -at
}

// forget has recorded stacks with code in [low, high) be recorded anew.
func (k *probeStacks) forget(low, high addr.Run, recorded func(capture.StackID) capture.Stack) {
	for of, id := range k.ids {
		if id <= 0 {
			continue
		}
		st := recorded(capture.StackID(id))
		if slices.ContainsFunc(st.PCs, func(pc addr.Run) bool { return low <= pc && pc <= high }) {
			k.ids[of] = k.wait(st)
		}
	}
}

// table has for each stack its number in the recording, below 0 if it is not there.
func (k *probeStacks) table() []int32 {
	if len(k.ids) == 0 {
		k.ids = append(k.ids, 0) // no stack is none in the recording, too
	}
	return k.ids
}

// recorded notes which number a stack that waited has in the recording.
func (k *probeStacks) recorded(of capture.StackID, id int32) {
	at := -k.ids[of]
	k.ids[of], k.spare = id, append(k.spare, at)
}

// StackOf is a walked stack as it is recorded: the code addresses and how they were
// found.
func StackOf(raw unwind.Stack) capture.Stack {
	st := capture.Stack{Truncated: raw.Truncated, PCs: make([]addr.Run, len(raw.Frames))}
	for i, f := range raw.Frames {
		st.PCs[i] = f.PC.Addr()
		switch {
		case f.PC.IsReturn():
		case i == 0:
			st.FirstIsPC = true
		default:
			st.Interrupted = setBit(st.Interrupted, i, len(raw.Frames))
		}
		if f.How.Guess() {
			st.Guess = setBit(st.Guess, i, len(raw.Frames))
		}
	}
	return st
}

func setBit(bits []bool, i, n int) []bool {
	if bits == nil {
		bits = make([]bool, n)
	}
	bits[i] = true
	return bits
}
