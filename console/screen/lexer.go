package screen

import (
	"embed"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// What chroma knows the languages that native programs are written in. Its own package of lexers
// reads the descriptions of all languages at each start of the program, which takes longer than
// most commands.
//
//go:generate go test -run ^TestLexerFiles$ -update
//go:embed lexers/*.xml
var lexerFiles embed.FS

// lexers is made when a source is shown in colours for the first time.
var lexers = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	entries, err := lexerFiles.ReadDir("lexers")
	if err != nil {
		return r
	}
	for _, e := range entries {
		if l, err := chroma.NewXMLLexer(lexerFiles, "lexers/"+e.Name()); err == nil {
			r.Register(l)
		}
	}
	return r
})
