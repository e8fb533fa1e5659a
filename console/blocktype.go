package console

import (
	"hdb/console/screen"
	"hdb/values/blocktype"
)

// A typeView is the type of a block and how it is known.
type typeView struct {
	Type string `json:"type,omitempty"`
	How  string `json:"type_known,omitempty"` // a word of blocktype.Hows
}

func viewType(t *blocktype.Type) typeView {
	if t == nil {
		return typeView{}
	}
	return typeView{t.String(), t.How.String()}
}

// howWords say in a line how a type is known.
var howWords = [...]string{
	blocktype.Declared: "declared where it was allocated",
	blocktype.VTable:   "by its virtual table",
	blocktype.Guess:    "a guess: the size fits",
	blocktype.Pointer:  "a guess: by the type of a pointer to it",
}

// printBlockType says what type a block is of, and what of it lies at an offset.
func printBlockType(o *screen.Output, t *blocktype.Type, off uint64) {
	if t == nil {
		return
	}
	o.Printf("type: %s   (%s)\n", o.Names.Short(t.String()), howWords[t.How])
	if text, typ := t.Field(off); typ != nil && text != "" && !t.Elem.Scalar() {
		o.Printf("there: %s, %s\n", text, o.Names.Short(typ.String()))
	}
}
