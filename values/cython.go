package values

// Names of variables in the C that Cython makes (Cython's Compiler/Naming.py).
const (
	cythonVariable = "__pyx_v_"
	cythonScope    = "__pyx_cur_scope"
	cythonOuter    = "__pyx_outer_scope"
)

// ofCython is the variable of a function of Cython by its name in the source: of the function
// alone, or shared with functions around it, which is a member of a struct.
func (e *evaluator) ofCython(name string) (Value, bool) {
	if v, ok := e.local(cythonVariable + name); ok {
		e.use(cythonVariable + name)
		return v, true
	}
	for _, scope := range []string{cythonScope, cythonOuter} {
		if !e.localEntry(scope).Valid() {
			continue
		}
		const around = 8 // functions
		for n, at := 0, scope; n < around; n, at = n+1, at+"->"+cythonOuter {
			if v, err := e.compute(at + "->" + cythonVariable + name); err == nil {
				return v, true
			}
		}
	}
	return Value{}, false
}
