package cpython

import (
	"cmp"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/python"
	"hdb/session/target"
)

// Stacks remembers where the stacks of threads end. Its zero value knows none.
type Stacks struct{ of map[int]knownStack } // by the TID

// A knownStack is the mapping that a thread's stack pointer was in.
type knownStack struct {
	mapping   addr.Range
	self, end addr.Run // pthread_self(); where the stack ends, 0: it is not that which the thread was made with
}

// maxStacks bounds the threads that are remembered.
const maxStacks = 1 << 12

// State is what the interpreter that a stopped thread is in keeps of it.
func (k *Stacks) State(c *target.Target, in *python.Interpreter, t *inferior.Thread) (python.State, error) {
	all, err := k.states(c, in, t)
	if err != nil {
		return python.State{}, err
	}
	return all[0], nil
}

// known are the stacks of the threads that are stopped.
func (k *Stacks) known(c *target.Target) (all []python.Thread, err error) {
	threads := c.Image.Threads()
	if len(threads) < 2 {
		return nil, nil // whatever runs, it runs
	}
	return k.among(c.Image.PID(), threads, c.Image.Maps)
}

// among are the stacks of those threads that run on the one that they were made with: the main
// thread's has a mapping of its own, and those of others end with struct pthread, in glibc and in
// musl. Nothing tells a stack that the program has made itself, such as a coroutine's.
func (k *Stacks) among(pid int, threads []*inferior.Thread, read func() ([]inferior.Mapping, error)) (all []python.Thread, err error) {
	var maps []inferior.Mapping
	for _, t := range threads {
		regs, err := t.Regs()
		if err != nil {
			continue // it runs, or ends
		}
		sp, self := addr.Run(regs.SP()), addr.Run(regs.FsBase)
		s, ok := k.of[t.TID]
		if !ok || s.self != self || !s.mapping.Contains(sp) {
			if maps == nil {
				if maps, err = read(); err != nil {
					return nil, err
				}
			}
			s = stackAt(sp, self, t.TID == pid, maps)
			k.note(t.TID, s)
		}
		if sp < s.end {
			all = append(all, python.Thread{Self: uint64(self), Stack: sp.To(s.end)})
		}
	}
	return apart(all), nil
}

func (k *Stacks) note(tid int, s knownStack) {
	if k.of == nil || len(k.of) >= maxStacks {
		k.of = map[int]knownStack{}
	}
	k.of[tid] = s
}

// stackAt is the stack of a thread by its stack pointer.
func stackAt(sp, self addr.Run, main bool, maps []inferior.Mapping) knownStack {
	i := slices.IndexFunc(maps, func(m inferior.Mapping) bool { return m.Low <= sp && sp < m.High })
	if i < 0 {
		return knownStack{}
	}
	s := knownStack{mapping: maps[i].Low.To(maps[i].High), self: self}
	switch {
	case main && maps[i].Path == "[stack]":
		s.end = s.mapping.End
	case !main && s.mapping.Contains(self):
		s.end = self
	}
	return s
}

// apart leaves out stacks that overlap: one of the threads runs on another stack than it seems to.
func apart(all []python.Thread) (left []python.Thread) {
	slices.SortFunc(all, func(a, b python.Thread) int { return cmp.Compare(a.Stack.Start, b.Stack.Start) })
	end := addr.Run(0) // of those before
	for i, t := range all {
		if t.Stack.Start >= end && (i+1 == len(all) || t.Stack.End <= all[i+1].Stack.Start) {
			left = append(left, t)
		}
		end = max(end, t.Stack.End)
	}
	return left
}
