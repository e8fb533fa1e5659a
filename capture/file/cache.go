package file

import (
	"slices"
	"sync"

	"hdb/capture"
)

// A cache keeps the values used last. Its zero value is ready. It may be used
// by any goroutine; its lock is the first lock to be taken, and not held while a
// value is made.
type cache[T any] struct {
	mu      sync.Mutex
	entries []cacheEntry[T]
	clock   uint64
}

type cacheEntry[T any] struct {
	key  int
	used uint64
	made *cached[T]
}

// A cached value is made by the first that wants it.
type cached[T any] struct {
	once  sync.Once
	value T
	err   error
}

// get is the value of key, made if it is not kept; at most limit are.
func (c *cache[T]) get(key, limit int, make func() (T, error)) (T, error) {
	m := c.entry(key, limit)
	m.once.Do(func() { m.value, m.err = make() })
	if m.err != nil {
		c.drop(m)
	}
	return m.value, m.err
}

// entry is where the value of key is, or will be.
func (c *cache[T]) entry(key, limit int) *cached[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	oldest := 0
	for i := range c.entries {
		e := &c.entries[i]
		if e.key == key {
			e.used = c.clock
			return e.made
		}
		if e.used < c.entries[oldest].used {
			oldest = i
		}
	}
	e := cacheEntry[T]{key, c.clock, new(cached[T])}
	if len(c.entries) < limit {
		c.entries = append(c.entries, e)
	} else {
		c.entries[oldest] = e
	}
	return e.made
}

// drop forgets a value that could not be made.
func (c *cache[T]) drop(m *cached[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(e cacheEntry[T]) bool { return e.made == m })
}

// An eventReader decodes payloads of events for any number of goroutines. Its
// zero value is ready.
type eventReader struct {
	decoders sync.Pool // of *eventDecoder
	blocks   cache[[]capture.Event]
}

// keptBlocks are decoded blocks kept for the next look: 4 MiB each.
const keptBlocks = 4

func (r *eventReader) decode(dst []capture.Event, payload []byte) ([]capture.Event, error) {
	d, _ := r.decoders.Get().(*eventDecoder)
	if d == nil {
		d = new(eventDecoder)
	}
	defer r.decoders.Put(d)
	return d.decode(dst, payload)
}

// each yields the events of the blocks first to end-1 with Seq >= from, and is
// false if yield was. A block that cannot be read is left out after a call of
// fail.
//
// The first block is cached: stepping from event to event asks for it again
// and again, and rarely gets further.
func (r *eventReader) each(first, end int, from uint64, load func(int) ([]byte, error), fail func(int, error), yield func(capture.Event) bool) bool {
	var buf []capture.Event
	for i := first; i < end; i++ {
		decode := func() ([]capture.Event, error) {
			payload, err := load(i)
			if err != nil {
				return nil, err
			}
			return r.decode(buf[:0], payload)
		}
		var events []capture.Event
		var err error
		if i == first {
			events, err = r.blocks.get(i, keptBlocks, decode)
		} else {
			events, err = decode()
			buf = events
		}
		if err != nil {
			fail(i, err)
			continue
		}
		for _, e := range events[searchEvents(events, from):] {
			if !yield(e) {
				return false
			}
		}
	}
	return true
}
