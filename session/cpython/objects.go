package cpython

import (
	"errors"
	"fmt"
	"strconv"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/inspect"
	"hdb/python/objects"
)

// Objects describes the objects of Python: which there are, and who refers to them.
type Objects struct{ *Python }

// heaps are the objects of the interpreters of each file that has one. An error that comes with heaps is about
// other files.
func (p Objects) heaps() (all []*objects.Heap, files []Runtime, err error) {
	list, refused, err := p.Interpreters()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range list {
		h, err := objects.Open(f.In, p.target.Image, f.Symbols, p.target.Reading.GivenUp)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		all, files = append(all, h), append(files, Runtime{f.In.Version(), f.Where})
	}
	if len(all) == 0 {
		return nil, nil, refused
	}
	return all, files, refused
}

// A Census is the objects of the interpreters of one file.
type Census struct {
	*objects.Census
	Runtime Runtime
}

// Census counts the objects by their types. An error that comes with them is about files whose objects cannot be
// read.
func (p Objects) Census() (all []Census, refused error, err error) {
	heaps, files, refused := p.heaps()
	if len(heaps) == 0 {
		return nil, nil, refused
	}
	pools, unpooled := Heaps(p).All()
	for i, h := range heaps {
		var own []Heap
		for _, x := range pools {
			if x.Runtime == files[i] {
				own = append(own, x)
			}
		}
		c, err := h.Census(blocksOf(own))
		if err != nil {
			return nil, nil, fmt.Errorf("CPython %s: %w", files[i].Version, err)
		}
		if errors.Is(c.Pools, objects.ErrNoPools) && unpooled != nil {
			c.Pools = unpooled
		}
		all = append(all, Census{c, files[i]})
	}
	return all, refused, nil
}

// blocksOf are the blocks of heaps, nil without heaps.
func blocksOf(heaps []Heap) objects.Blocks {
	if len(heaps) == 0 {
		return nil
	}
	return func(yield func(at addr.Run, size uint64) bool) (err error) {
		more := true
		for _, h := range heaps {
			err = errors.Join(err, h.Blocks(func(at addr.Run, size uint64) bool {
				more = yield(at, size)
				return more
			}))
			if !more {
				break
			}
		}
		return err
	}
}

// A Collector is the garbage collector of an interpreter.
type Collector struct {
	objects.Collector
	Runtime Runtime
}

// Collectors tells what the garbage collectors of all interpreters are about.
func (p Objects) Collectors() (all []Collector, refused error, err error) {
	heaps, files, refused := p.heaps()
	if len(heaps) == 0 {
		return nil, nil, refused
	}
	for i, h := range heaps {
		list, err := h.Collectors()
		if err != nil {
			return nil, nil, fmt.Errorf("CPython %s: %w", files[i].Version, err)
		}
		for _, c := range list {
			all = append(all, Collector{c, files[i]})
		}
	}
	return all, refused, nil
}

// Referrers is who refers to an object of Python.
type Referrers struct {
	*objects.Referrers
	Value string // the object, as py print shows it
}

// Referrers finds who refers to an object: an expression as py print takes it, or an address.
func (p Objects) Referrers(expr string, l inspect.Limits) (r Referrers, err error) {
	h, in, at, err := p.object(expr)
	if err != nil {
		return r, err
	}
	r.Value = in.Objects().Repr(at, l)
	r.Referrers, err = h.Referrers(at)
	return r, err
}

// Path finds how an object is reached from a module or a frame.
func (p Objects) Path(expr string) (*objects.Path, error) {
	h, _, at, err := p.object(expr)
	if err != nil {
		return nil, err
	}
	return h.Path(at)
}

// leads are the offsets at which an object can begin in its block: 0; 16, behind the collector's header; 32, if pointers to
// attributes come before that header.
var leads = [...]addr.Run{0, 16, 32}

// object finds an object, and the heap that it is of.
func (p Objects) object(expr string) (h *objects.Heap, in *python.Interpreter, at addr.Run, err error) {
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil {
		at = addr.Run(n)
	} else if at, err = p.evaluated(expr); err != nil {
		return nil, nil, 0, err
	}
	files, refused, err := p.Interpreters()
	if err != nil {
		return nil, nil, 0, err
	}
	for _, f := range files {
		h, err := objects.Open(f.In, p.target.Image, f.Symbols, p.target.Reading.GivenUp)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		for _, lead := range leads {
			_, no := h.Type(at + lead)
			if no == nil {
				return h, f.In, at + lead, nil
			}
			if lead == 0 {
				refused = errors.Join(refused, no)
			}
		}
	}
	return nil, nil, 0, refused
}

// Within is the object of Python that a block is, and its type; false if it is none.
func (p Objects) Within(block uint64) (at addr.Run, typ string, ok bool) {
	h, _, at, err := p.object(fmt.Sprintf("%#x", block))
	if err != nil {
		return 0, "", false
	}
	t, err := h.Type(at)
	return at, t.Name, err == nil
}

// evaluated is the object that an expression means in the selected function of Python.
func (p Objects) evaluated(expr string) (addr.Run, error) {
	s, n, err := p.stackHere()
	if err != nil {
		return 0, fmt.Errorf("%w; an address 0x... can be given", err)
	}
	v, err := s.eval(n, expr)
	switch {
	case err != nil:
		return 0, err
	case v.At == 0:
		return 0, fmt.Errorf("%s: a computed value, not an object of the program", expr)
	}
	return v.At, nil
}
