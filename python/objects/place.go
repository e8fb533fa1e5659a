package objects

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python"
)

// keyLimits bound the text of a key.
var keyLimits = python.Limits{Elements: 4, Depth: 1}

// suffix is how an expression goes on from an object to one that it refers to: ".name", "[3]", "['key']"; or words, if
// no expression does.
func (h *Heap) suffix(at addr.Run, t *Type, e edge) string {
	switch e.kind {
	case element, child:
		return fmt.Sprintf("[%d]", e.index)
	case entryValue:
		return "[" + h.in.Repr(h.keyOf(at, e.index), keyLimits) + "]"
	case entryKey:
		return ", a key"
	case member:
		return ", a member"
	case attribute:
		if k, ok := h.keysAt(t.keys); ok && uint64(e.index) < k.entries {
			if s, err := h.in.Text(h.key(k, uint64(e.index))); err == nil {
				return "." + s
			}
		}
		return ", an attribute"
	case ownDict:
		return ".__dict__"
	case variable:
		return ", variable " + h.variableOf(at, t, e.index)
	case temporary, leftOver:
		return ", a temporary value"
	case sharedKey:
		return ", the name of an attribute"
	case stateOf:
		return ", in the module's state"
	}
	if name := h.fieldName(at, t, int64(e.index)); name != "" {
		return "." + name
	}
	return fmt.Sprintf(", at offset %d", e.index)
}

// keyOf is the key of an entry of a dict.
func (h *Heap) keyOf(dict addr.Run, i uint32) addr.Run {
	if k, ok := h.keysAt(h.mem.pointer(dict + dictKeys)); ok && uint64(i) < k.entries {
		return h.key(k, uint64(i))
	}
	return 0
}

// keyText is the key of an entry if it is a name, as those of attributes are.
func (h *Heap) keyText(dict addr.Run, i uint32) (string, bool) {
	at := h.keyOf(dict, i)
	if t := h.typeOf(at); t == nil || t.kind != textKind {
		return "", false
	}
	s, err := h.in.Text(at)
	return s, err == nil
}

// fieldNames are what Python calls fields that are no members of their types, by kind and offset.
var fieldNames = map[string]map[int64]string{
	"cell":                       {16: "cell_contents"},
	"builtin_function_or_method": {24: "__self__"},
	"method":                     {16: "__func__", 24: "__self__"},
	"list_iterator":              {24: "__reduce__()[1][0]"},
}

var classFields = map[int64]string{typeBase: "__base__", typeDict: "__dict__", typeBases: "__bases__", typeMRO: "__mro__", typeCache: "tp_cache", typeSubclasses: "tp_subclasses"}

// functionFields are those of PyFunctionObject up to 3.9, and later.
var functionFields = [2]map[int64]string{
	{16: "__code__", 24: "__globals__", 32: "__defaults__", 40: "__kwdefaults__", 48: "__closure__", 56: "__doc__", 64: "__name__", 72: "__dict__", 88: "__module__", 96: "__annotations__", 104: "__qualname__"},
	{16: "__globals__", 24: "__builtins__", 32: "__name__", 40: "__qualname__", 48: "__code__", 56: "__defaults__", 64: "__kwdefaults__", 72: "__closure__", 80: "__doc__", 88: "__dict__", 104: "__module__", 112: "__annotations__"},
}

// exceptionFields are those of PyBaseExceptionObject up to 3.10, and later.
var exceptionFields = [2]map[int64]string{
	{24: "args", 32: "__traceback__", 40: "__context__", 48: "__cause__"},
	{24: "args", 32: "__notes__", 40: "__traceback__", 48: "__context__", 56: "__cause__"},
}

const memberDef = 40 // bytes of a PyMemberDef: name, type, offset

// fieldName is what Python calls the field at an offset of an object, "" if that is not known.
func (h *Heap) fieldName(at addr.Run, t *Type, off int64) string {
	later := func(minor int) int {
		if h.l.minor >= minor {
			return 1
		}
		return 0
	}
	name := ""
	switch {
	case t.kind == typeKind:
		name = classFields[off]
	case t.kind == moduleKind && off == moduleDict:
		name = "__dict__"
	case t.Name == "function":
		name = functionFields[later(10)][off]
	case t.flags&isException != 0:
		name = exceptionFields[later(11)][off]
	default:
		name = fieldNames[t.Name][off]
	}
	if name != "" {
		return name
	}
	for class, n := t.At, 0; class != 0 && n < maxHeight; class, n = h.mem.pointer(class+typeBase), n+1 {
		def := h.mem.pointer(class + typeMembers)
		for range maxMethods {
			m := h.mem.view(def, memberDef)
			if def == 0 || m == nil || pointerIn(m, 0) == 0 {
				break
			}
			if int64(wordIn(m, 16)) == off {
				return h.mem.text(pointerIn(m, 0), maxName)
			}
			def += memberDef
		}
	}
	return ""
}

// variableOf is the name of a variable of a frame or a generator.
func (h *Heap) variableOf(at addr.Run, t *Type, i uint32) string {
	l := h.l.frame
	code := at + addr.Run(l.code)
	switch {
	case l.object == 0 && t.kind == generatorKind:
		return "?"
	case l.object != 0 && t.kind == generatorKind:
		code += addr.Run(l.inGenerator)
	case l.object != 0:
		code = h.mem.pointer(at+addr.Run(l.object)) + addr.Run(l.code)
	}
	return h.variableName(h.mem.pointer(code), i)
}

// variableName is the name of a variable of a code object by its number.
func (h *Heap) variableName(code addr.Run, i uint32) string {
	l := h.l.code
	tuples := []int{l.names}
	if l.cells != 0 {
		tuples = append(tuples, l.cells, l.free)
	}
	for _, off := range tuples {
		names := h.mem.pointer(code + addr.Run(off))
		n := h.mem.word(names + varSize)
		if uint64(i) < n {
			if s, err := h.in.Text(h.mem.pointer(names + tupleItems + addr.Run(8*i))); err == nil {
				return s
			}
			break
		}
		if n > maxLocals {
			break
		}
		i -= uint32(n)
	}
	return "?"
}

// className is the name of a class that is itself the object.
func (h *Heap) className(at addr.Run) string {
	if t := h.typeAt(at); t != nil {
		return t.Name
	}
	return "?"
}

// moduleNameOf is the name of a module.
func (h *Heap) moduleNameOf(at addr.Run) string {
	if s, err := h.in.Text(h.mem.pointer(at + moduleName)); err == nil {
		return s
	}
	return "?"
}

// noun is what an object is called where an expression begins with it: a module or a class by its name, another by its type.
func (h *Heap) noun(at addr.Run, t *Type) string {
	switch t.kind {
	case moduleKind:
		return h.moduleNameOf(at)
	case typeKind:
		return h.className(at)
	}
	return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
}
