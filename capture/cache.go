package capture

import "sync"

// A cache keeps the values used last. Its zero value is ready. It may be used
// by any goroutine; its lock is held while a value is made, and is the first
// lock to be taken.
type cache[T any] struct {
	mu      sync.Mutex
	entries []cacheEntry[T]
	clock   uint64
}

type cacheEntry[T any] struct {
	key   int
	used  uint64
	value T
}

// get is the value of key, made if it is not kept; at most limit are.
func (c *cache[T]) get(key, limit int, make func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	oldest := 0
	for i := range c.entries {
		e := &c.entries[i]
		if e.key == key {
			e.used = c.clock
			return e.value, nil
		}
		if e.used < c.entries[oldest].used {
			oldest = i
		}
	}
	value, err := make()
	if err != nil {
		return value, err
	}
	entry := cacheEntry[T]{key, c.clock, value}
	if len(c.entries) < limit {
		c.entries = append(c.entries, entry)
	} else {
		c.entries[oldest] = entry
	}
	return value, nil
}

// An eventReader decodes payloads of events for any number of goroutines. Its
// zero value is ready.
type eventReader struct {
	decoders sync.Pool // of *eventDecoder
	blocks   cache[[]Event]
}

// keptBlocks are decoded blocks kept for the next look: 4 MiB each.
const keptBlocks = 4

func (r *eventReader) decode(dst []Event, payload []byte) ([]Event, error) {
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
func (r *eventReader) each(first, end int, from uint64, load func(int) ([]byte, error), fail func(int, error), yield func(Event) bool) bool {
	var buf []Event
	for i := first; i < end; i++ {
		decode := func() ([]Event, error) {
			payload, err := load(i)
			if err != nil {
				return nil, err
			}
			return r.decode(buf[:0], payload)
		}
		var events []Event
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
