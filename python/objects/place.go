package objects

import (
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// keyLimits bound the text of a key.
var keyLimits = inspect.Limits{Elements: 4, Depth: 1}

// suffix is how an expression continues from an object to one that it refers to: ".name", "[3]", "['key']"; or words,
// if no expression does.
func (h *Heap) suffix(at addr.Run, t *Type, e edge) string {
	switch e.kind {
	case element, child:
		return fmt.Sprintf("[%d]", e.index)
	case entryValue:
		return "[" + h.in.Objects().Repr(h.keyOf(at, e.index), keyLimits) + "]"
	case entryKey:
		return ", a key"
	case member:
		return ", a member"
	case attribute:
		if k, ok := h.keysAt(t.keys); ok && uint64(e.index) < k.Entries {
			if s, err := h.in.Objects().Text(h.mem.pointer(k.KeyAt(uint64(e.index)))); err == nil {
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
	if k, ok := h.keysAt(h.mem.field(dict, h.l.Dict.Keys)); ok && uint64(i) < k.Entries {
		return h.mem.pointer(k.KeyAt(uint64(i)))
	}
	return 0
}

// keyText is the key of an entry if it is a name, as those of attributes are.
func (h *Heap) keyText(dict addr.Run, i uint32) (string, bool) {
	at := h.keyOf(dict, i)
	if t := h.typeOf(at); t == nil || t.kind != textKind {
		return "", false
	}
	s, err := h.in.Objects().Text(at)
	return s, err == nil
}

// fieldNames are what Python calls fields that are no members of their types, by type and offset. Exceptions, modules
// and classes are under the names of the types that theirs are made of.
func fieldNames(l *layout.Layout) map[string]map[int]string {
	f, e, t := &l.Function, &l.Exception, &l.Type
	all := map[string]map[int]string{
		"cell":                       {l.Cell: "cell_contents"},
		"builtin_function_or_method": {l.CFunction.Self: "__self__"},
		"method":                     {l.Method.Function: "__func__", l.Method.Self: "__self__"},
		"list_iterator":              {l.Iterated: "__reduce__()[1][0]"},
		"module":                     {l.Module.Dict: "__dict__"},
		"type": {t.Base: "__base__", t.Dict: "__dict__", t.Bases: "__bases__", t.MRO: "__mro__", t.Cache: "tp_cache",
			t.Subclasses: "tp_subclasses"},
		"function": {f.Code: "__code__", f.Globals: "__globals__", f.Builtins: "__builtins__", f.Defaults: "__defaults__",
			f.KwDefaults: "__kwdefaults__", f.Closure: "__closure__", f.Doc: "__doc__", f.Name: "__name__", f.Dict: "__dict__",
			f.Module: "__module__", f.Annotations: "__annotations__", f.Qualname: "__qualname__"},
		"BaseException": {e.Args: "args", e.Notes: "__notes__", e.Traceback: "__traceback__", e.Context: "__context__",
			e.Cause: "__cause__"},
	}
	for _, names := range all {
		delete(names, 0) // what a version does not have
	}
	return all
}

// fieldName is what Python calls the field at an offset of an object, "" if that is not known.
func (h *Heap) fieldName(at addr.Run, t *Type, off int64) string {
	of := t.Name
	switch {
	case t.kind == typeKind:
		of = "type"
	case t.kind == moduleKind && off == int64(h.l.Module.Dict):
		of = "module"
	case t.Name != "function" && t.Flags&layout.IsException != 0:
		of = "BaseException"
	}
	name := h.fieldNames[of][int(off)]
	if name != "" {
		return name
	}
	for class, n := t.At, 0; class != 0 && n < maxHeight; class, n = h.mem.field(class, h.l.Type.Base), n+1 {
		def := h.mem.field(class, h.l.Type.Members)
		for range maxMethods {
			m := h.mem.view(def, layout.MemberSize)
			if def == 0 || m == nil || pointerIn(m, layout.MemberName) == 0 {
				break
			}
			if int64(wordIn(m, layout.MemberOffset)) == off {
				return h.mem.text(pointerIn(m, layout.MemberName), maxName)
			}
			def += layout.MemberSize
		}
	}
	return ""
}

// variableOf is the name of a variable of a frame or a generator.
func (h *Heap) variableOf(at addr.Run, t *Type, i uint32) string {
	l := h.l
	frame := at
	switch {
	case t.kind == generatorKind && !l.Generator.Embedded:
		return "?"
	case t.kind == generatorKind:
		frame += addr.Run(l.Generator.Frame)
	case l.FrameObject.Frame != 0:
		frame = h.mem.field(at, l.FrameObject.Frame)
	}
	return h.variableName(h.mem.field(frame, l.Frame.Code), i)
}

// variableName is the name of a variable of a code object by its number.
func (h *Heap) variableName(code addr.Run, i uint32) string {
	l := &h.l.Code
	tuples := []int{l.Names}
	if l.Cells != 0 {
		tuples = append(tuples, l.Cells, l.Free)
	}
	for _, off := range tuples {
		names := h.mem.field(code, off)
		n := h.count(names)
		if uint64(i) < n {
			if s, err := h.in.Objects().Text(h.mem.field(names, h.l.Tuple.Items+int(8*i))); err == nil {
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
	if s, err := h.in.Objects().Text(h.mem.field(at, h.l.Module.Name)); err == nil {
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
