package heaps

import (
	"fmt"

	"hdb/goruntime"
	"hdb/heap/golang"
	"hdb/session/target"
)

// GoHeap tells where a Go runtime has its heap; nil if no module has one.
func (h *Heap) GoHeap() func() (golang.Source, error) {
	m := h.target.GoHome()
	if m == nil {
		return nil
	}
	return func() (golang.Source, error) { return h.goSource(*m) }
}

// goSource is what the heap of a module's runtime is read by.
func (h *Heap) goSource(m target.GoModule) (src golang.Source, err error) {
	version, err := m.Object.GoVersion()
	if err != nil {
		return src, fmt.Errorf("heap of Go: %w", err)
	}
	layout, err := goruntime.Of(version)
	if err != nil {
		return src, fmt.Errorf("heap of Go: %w", err)
	}
	src.Layout = layout.Heap()
	p := h.target.GoProgram(m.Object, m.Bias)
	for _, v := range []struct {
		name string
		to   *uint64
	}{{goruntime.Heap, &src.Heap}, {goruntime.FirstModule, &src.Modules}, {goruntime.AllGs, &src.AllGs}} {
		if *v.to, err = p.Variable(v.name); err != nil {
			return src, fmt.Errorf("heap of Go: %w", err)
		}
	}
	if src.Finalizers, err = p.Variable(goruntime.AllFinalizers); err != nil && h.queueless != h.target.Image {
		h.queueless = h.target.Image
		h.target.Notify("heap of Go: %v: objects that wait for their finalizer are counted as garbage", err)
	}
	return src, nil
}
