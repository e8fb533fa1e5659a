package objects

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
)

// A Path is how an object is reached from a module or a frame of a thread.
type Path struct {
	Text  string     // as an expression, "app.cache['key'].parts[3]"
	Frame *FrameRoot // whose variable it begins with, nil of a module
	Steps []Step
}

// A Step is an object on the way, with what leads to it.
type Step struct {
	Text string // of the expression: "app", ".cache", "['key']"
	At   addr.Run
	Type string
}

// ErrUnreached is of an object to which no way leads.
var ErrUnreached = errors.New("no module and no thread's frame leads to it: it is part of a garbage cycle, or only C code holds it")

// A node is an object that was reached.
type node struct {
	found
	parent int32 // -1 of a root
	frame  int32 // of a root: the frame's, -1 of a module
	e      edge
}

// A route is the search for a path: breadth first, so that it is a shortest one.
type route struct {
	h      *Heap
	seen   *marks
	nodes  []node
	frames []FrameRoot
	target addr.Run
	end    int32 // the node of the target, -1 before
}

// Path finds a shortest path to an object.
func (h *Heap) Path(target addr.Run) (*Path, error) {
	if _, err := h.Type(target); err != nil {
		return nil, err
	}
	r := &route{h: h, seen: newMarks(), target: target, end: -1}
	if err := r.roots(); err != nil {
		return nil, err
	}
	for i := int32(0); int(i) < len(r.nodes) && r.end < 0; i++ {
		n := r.nodes[i]
		err := h.traverse(n.at, n.t, func(to addr.Run, e edge) { r.reach(to, i, -1, e) })
		if err != nil {
			return nil, err
		}
	}
	if r.end < 0 {
		return nil, ErrUnreached
	}
	return r.path(), nil
}

// roots are the modules, the program's first, and the variables of frames.
func (r *route) roots() error {
	states, err := r.h.collectors()
	if err != nil {
		return err
	}
	type module struct {
		found
		rank int
	}
	var modules []module
	for _, s := range states {
		_, err := r.h.collector(s, func(at addr.Run) {
			if t := r.h.typeOf(at); t != nil && t.kind == moduleKind {
				rank := 1
				if r.h.moduleNameOf(at) == "__main__" {
					rank = 0
				}
				modules = append(modules, module{found{at, t}, rank})
			}
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(modules, func(a, b module) int { return cmp.Compare(a.rank, b.rank) })
	for _, m := range modules {
		r.reach(m.at, -1, -1, edge{})
	}
	r.frames = r.h.frames()
	for i, f := range r.frames {
		err := r.h.ofRoot(f, func(to addr.Run, e edge) {
			if e.kind == variable || e.kind == temporary {
				r.reach(to, -1, int32(i), e)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *route) reach(to addr.Run, parent, frame int32, e edge) {
	if to == 0 || r.end >= 0 || e.kind == leftOver || r.seen.has(to) || r.seen.full() {
		return
	}
	t := r.h.typeOf(to)
	if t == nil || t.holdsNothing() && to != r.target {
		return
	}
	r.seen.add(to)
	if to == r.target {
		r.end = int32(len(r.nodes))
	}
	r.nodes = append(r.nodes, node{found{to, t}, parent, frame, e})
}

// path is the way to the target.
func (r *route) path() *Path {
	var way []node
	for i := r.end; i >= 0; i = r.nodes[i].parent {
		way = append(way, r.nodes[i])
	}
	slices.Reverse(way)
	p := &Path{}
	first := way[0]
	text := ""
	if first.frame >= 0 {
		p.Frame = &r.frames[first.frame]
		text = r.h.variableName(p.Frame.Code.At, first.e.index)
		if first.e.kind != variable {
			text = "(a temporary value)"
		}
	} else {
		text = r.h.moduleNameOf(first.at)
	}
	p.Text = text
	p.Steps = append(p.Steps, Step{text, first.at, first.t.Name})
	for i := 1; i < len(way); i++ {
		from, n := way[i-1], way[i]
		text := r.h.suffix(from.at, from.t, n.e)
		if i+1 < len(way) && r.h.isOwn(from.t, n.e) && way[i+1].e.kind == entryValue { // the dict of its attributes
			if name, ok := r.h.keyText(n.at, way[i+1].e.index); ok {
				i++
				n, text = way[i], "."+name
			}
		}
		p.Text += text
		p.Steps = append(p.Steps, Step{text, n.at, n.t.Name})
	}
	return p
}

// String is the path with the frame that it begins in.
func (p *Path) String() string {
	if p.Frame != nil {
		return fmt.Sprintf("%s in %s", p.Text, p.Frame.Code.Qualname)
	}
	return p.Text
}
