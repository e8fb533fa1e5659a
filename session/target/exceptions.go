package target

import (
	"bytes"
	"errors"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values/printers"
)

// CaughtType is the address of the type of an exception, of which header is the
// _Unwind_Exception, as __cxa_begin_catch is given it.
func (c *Target) CaughtType(header addr.Run) (addr.Run, error) {
	class, err := c.ReadPointer(header)
	if err != nil {
		return 0, err
	}
	first, err := c.ReadPointer(header - typeBefore)
	if err == nil && class == dependentClass {
		return c.ReadPointer(first - typeBeforeValue)
	}
	return first, err
}

// maxTypeName bounds the name of a type in the inferior.
const maxTypeName = 512

// ThrownAt is the object that is thrown, or begins to be handled, and the address of its
// type, at the entry of the runtime's function for that event.
func (c *Target) ThrownAt(event string, regs inferior.Registers) (object, info addr.Run, err error) {
	first := addr.Run(regs.Arg(0))
	switch event {
	case "throw":
		return first, addr.Run(regs.Arg(1)), nil
	case "catch":
		if info, err = c.CaughtType(first); err != nil {
			return 0, 0, err
		}
		if class, err := c.ReadPointer(first); err == nil && class == dependentClass {
			object, err = c.ReadPointer(first - typeBefore)
			return object, info, err
		}
		return first + unwindHeader, info, nil
	}
	return 0, 0, errors.New("catch " + event + ": the exception is not known there")
}

// TypeOf is the type that a std::type_info describes: its second word points to the
// mangled name (Itanium C++ ABI, section 2.9.4). "" if it does not.
func (c *Target) TypeOf(info addr.Run) string {
	full := c.FullTypeOf(info)
	if full == "" {
		return ""
	}
	return printers.Table{}.TypeName(full)
}

// FullTypeOf is TypeOf with all template arguments.
func (c *Target) FullTypeOf(info addr.Run) string {
	at, err := c.ReadPointer(info + 8)
	if err != nil {
		return ""
	}
	var b [maxTypeName]byte
	n, _ := c.Image.ReadAt(b[:], int64(at))
	name, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok || len(name) == 0 {
		return ""
	}
	full, ok := strings.CutPrefix(symbols.Demangle("_ZTS"+strings.TrimPrefix(string(name), "*")), "typeinfo name for ")
	if !ok {
		return ""
	}
	return full
}

// Where the type of an exception is, by the address of its _Unwind_Exception, in libstdc++ and
// libc++abi: struct __cxa_exception ends with that and begins with the type. The object thrown is
// behind it. In libstdc++ a dependent exception, as std::rethrow_exception makes them, has a
// pointer to the object in that place; the class of exceptions tells.
const (
	typeBefore      = 80 // of the _Unwind_Exception
	typeBeforeValue = 112
	unwindHeader    = 32                 // bytes of the _Unwind_Exception
	dependentClass  = 0x474e5543432b2b01 // "GNUCC++\x01"
)
