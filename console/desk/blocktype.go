package desk

import (
	"hdb/console/screen"
	"hdb/values/blocktype"
)

// A TypeView is the type of a block and how it is known.
type TypeView struct {
	Type string `json:"type,omitempty"`
	How  string `json:"type_known,omitempty"` // a word of blocktype.Hows
}

// ViewType is the type of a block for JSON.
func ViewType(t *blocktype.Type) TypeView {
	if t == nil {
		return TypeView{}
	}
	return TypeView{t.String(), t.How.String()}
}

// howWords say in a line how a type is known.
var howWords = [...]string{
	blocktype.Declared: "declared where it was allocated",
	blocktype.VTable:   "by its virtual table",
	blocktype.Guess:    "a guess: the size fits",
	blocktype.Pointer:  "a guess: by the type of a pointer to it",
}

// PrintBlockType says what type a block is of, and which part of it is at an offset.
func PrintBlockType(o *screen.Output, t *blocktype.Type, off uint64) {
	if t == nil {
		return
	}
	o.Printf("type: %s   (%s)\n", o.Names.Short(t.String()), howWords[t.How])
	if text, typ := t.Field(off); typ != nil && text != "" && !t.Elem.Scalar() {
		o.Printf("there: %s, %s\n", text, o.Names.Short(typ.String()))
	}
}
