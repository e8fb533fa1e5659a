package python

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Runtime is where packages begin that read more of an interpreter than its frames.
type Runtime struct {
	Layout       *layout.Layout
	Version      string
	At           addr.Run // _PyRuntime
	Interpreters []InterpreterState
}

// An InterpreterState is where a PyInterpreterState is. The main interpreter has ID 0.
type InterpreterState struct {
	ID int64
	At addr.Run
}

// Runtime finds the interpreters. There are none before the start of Python and after its end.
func (in *Interpreter) Runtime() (Runtime, error) {
	l := in.layout
	r := Runtime{Layout: l, Version: in.version, At: in.runtime}
	at, err := in.mem.Field(in.runtime, l.Runtime.Interpreters)
	for ; at != 0 && err == nil; at, err = in.mem.Field(at, l.Interpreter.Next) {
		if len(r.Interpreters) == maxInterpreters {
			return r, fmt.Errorf("more than %d interpreters", maxInterpreters)
		}
		id, e := in.mem.Word(at + addr.Run(l.Interpreter.ID))
		if e != nil {
			return r, fmt.Errorf("interpreter: %w", e)
		}
		r.Interpreters = append(r.Interpreters, InterpreterState{int64(id), at})
	}
	if err != nil {
		return r, fmt.Errorf("interpreter: %w", err)
	}
	return r, nil
}
