package values

import (
	"strings"

	"hdb/symbols/dwarf"
)

// An imports is the names that a frame's scopes have from elsewhere (DWARF 5, section 3.2).
type imports struct {
	namespaces []string          // "shop::" of `using namespace shop`
	aliases    map[string]string // "fs" is "std::filesystem", "vector" is "std::vector"
}

// maxImports bounds the imports of a frame.
const maxImports = 4096

// imported are the imports that the frame's code can use: those in its blocks, and those of
// its unit outside of all namespaces.
func (f *Frame) imported() *imports {
	if f == nil {
		return &imports{}
	}
	if f.imports == nil {
		f.imports = &imports{aliases: map[string]string{}}
		if s, err := f.scope(); err == nil && isCPlusPlus(languageOf(s.Physical)) {
			for _, b := range s.Blocks {
				eachChild(b, f.addImport)
			}
			for d := range children(home(s.Blocks[len(s.Blocks)-1]).Root()) {
				if f.addImport(d); len(f.imports.namespaces)+len(f.imports.aliases) > maxImports {
					break
				}
			}
		}
	}
	return f.imports
}

// addImport adds what an entry imports.
func (f *Frame) addImport(d dwarf.DIE) {
	tag := d.Tag()
	if tag != dwarf.TagImportedModule && tag != dwarf.TagImportedDecl {
		return
	}
	v, ok := d.Attr(dwarf.AtImport)
	if !ok || !v.Ref().Valid() {
		return
	}
	of := v.Ref()
	name := f.Module.Obj.DWARF.Qualified(named(of), nameOf(named(of)))
	if name == "" {
		return
	}
	if tag == dwarf.TagImportedModule {
		f.imports.namespaces = append(f.imports.namespaces, name+"::")
		return
	}
	short := nameOf(d)
	if short == "" {
		short = lastName(name)
	}
	if _, ok := f.imports.aliases[short]; !ok && short != name {
		f.imports.aliases[short] = name
	}
}

// unaliased is a name without the aliases of its first component: fs::path is
// std::filesystem::path.
func (f *Frame) unaliased(name string) string {
	first, rest, _ := strings.Cut(name, "::")
	plain := cutTemplate(first)
	if full, ok := f.imported().aliases[plain]; ok {
		out := full + first[len(plain):]
		if len(first) < len(name) {
			out += "::" + rest
		}
		return out
	}
	return name
}
