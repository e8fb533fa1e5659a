package values

import "fmt"

// A typeError is the error of an expression that can have no value whatever the values of
// its variables are, because of their types.
type typeError struct{ text string }

func (e *typeError) Error() string { return e.text }

func typeErrorf(format string, args ...any) error {
	return &typeError{fmt.Sprintf(format, args...)}
}

// mismatch is the error of an operator that values of their types have not got: a
// typeError, unless one is a value of a library, whose printer may not have been able to
// read it, or a void one, which may get a type later.
func mismatch(operands []Value, format string, args ...any) error {
	for _, v := range operands {
		if v.Type == nil || v.Type.Strip().Kind == Void || v.printer() != nil {
			return fmt.Errorf(format, args...)
		}
	}
	return typeErrorf(format, args...)
}
