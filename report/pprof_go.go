package report

import "hdb/goruntime"

// goFrames are those frames of a stack that the heap profiles of Go itself have: neither the
// runtime's that lead to the allocator, nor its outermost with the go statement behind it, nor
// functions that the compiler has made to call others (runtime/pprof/proto.go;
// runtime/traceback.go, elideWrapperCalling). A stack of the runtime's alone keeps all frames.
func goFrames(p *Profile, frames []int) []int {
	for i, f := range frames {
		if p.Frames[f].Function == goruntime.GoExit {
			frames = frames[:i]
			break
		}
	}
	for i, f := range frames {
		if !goruntime.Internal(p.Frames[f].Function) {
			frames = frames[i:]
			break
		}
	}
	var shown []int
	for _, f := range frames {
		if !goWrapper(&p.Frames[f]) {
			shown = append(shown, f)
		}
	}
	return shown
}

// goWrapper tells functions that the compiler has made, also for methods of embedded types and by
// pointers, and a few that Go's profiles take for such: reflection's, and what runs deferred calls.
func goWrapper(f *Frame) bool {
	switch f.Function {
	case "runtime.deferreturn", "runtime.runOpenDeferFrame", "reflect.callReflect", "reflect.callMethod":
		return true
	}
	return goruntime.Helper(f.Function) || f.File == goruntime.NoFile
}
