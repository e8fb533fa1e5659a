package heaps

import (
	"encoding/binary"
	"slices"
	"strings"

	"hdb/capture"
	"hdb/inferior"
	"hdb/query"
	"hdb/session/target"
)

// A MallocAbort is why a check of the C library's malloc has ended the program.
type MallocAbort struct {
	Message string // as the C library has printed it
	Kind    AbortKind
	Wrong   *query.WrongFree // the thread's last call, if it is recorded and wrong
	Damage  []HeapDamage     // what is wrong with the heap now
	Threads map[int]int      // hdb's numbers by TID
	More    int              // places beyond Damage
	// Off tells that wrong frees were not looked for, Unrecorded that nothing was recorded.
	Off, Unrecorded bool
}

// An AbortKind is what the message of a check means.
type AbortKind uint8

// The kinds.
const (
	AbortOther       AbortKind = iota
	AbortWrongFree             // a block was freed twice, or what was freed is not a block
	AbortEither                // that, or the header of the chunk or of its neighbour was overwritten
	AbortOverwritten           // the header of a chunk was overwritten
	AbortLink                  // the link of a chunk in a list of free ones was overwritten
)

// abortKinds are words of the messages of malloc/malloc.c of glibc 2.31 to 2.41, the first that fits decides.
var abortKinds = []struct {
	words string
	kind  AbortKind
}{
	{"double free detected in tcache", AbortWrongFree},
	{"double free or corruption (fasttop)", AbortWrongFree},
	{"double free or corruption", AbortEither}, // (top), (out), (!prev)
	{"free(): invalid pointer", AbortWrongFree},
	{"munmap_chunk(): invalid pointer", AbortEither},
	{"realloc(): invalid pointer", AbortWrongFree},
	{"free(): invalid size", AbortEither},
	{"invalid size (unsorted)", AbortOverwritten},
	{"invalid next->prev_inuse", AbortOverwritten},
	{"double-linked list", AbortLink},
	{"double linked list", AbortLink},
	{"unaligned", AbortLink}, // tcache, fastbin chunk detected
	{"bk or fd", AbortLink},
	{"mismatching next->prev_size", AbortOverwritten},
	{"invalid next size", AbortOverwritten}, // of the unsorted list, too
	{"unsorted", AbortLink},
	{"memory corruption (fast)", AbortLink},
	{"corrupted", AbortOverwritten}, // top size, size vs. prev_size
	{"invalid old size", AbortEither},
	{"invalid top size", AbortOverwritten},
	{"invalid chunk", AbortOverwritten},
}

// mallocMessages are how messages of malloc begin that name it; others have one of the words above.
var mallocMessages = []string{"malloc(): ", "free(): ", "realloc(): ", "calloc(): ", "malloc_consolidate(): ", "munmap_chunk(): ", "mremap_chunk(): ", "double free or corruption", "corrupted ", "tcache_thread_shutdown(): "}

// abortKind is what a message means; false: it is none of malloc.
func abortKind(message string) (AbortKind, bool) {
	if !slices.ContainsFunc(mallocMessages, func(begin string) bool { return strings.HasPrefix(message, begin) }) {
		return 0, false
	}
	for _, k := range abortKinds {
		if strings.Contains(message, k.words) {
			return k.kind, true
		}
	}
	return AbortOther, true
}

const (
	maxAbortMessage = 4 << 10 // bytes
	maxAbortDamage  = 3
	maxLastEvents   = 1 << 16 // in which the thread's last call is looked for
)

// abortMessage is what the C library has printed before it aborted the program, "" nothing: struct
// abort_msg_s, in the private symbol __abort_msg (include/stdlib.h of glibc).
func (h *Mallocs) abortMessage() string {
	at := h.heap.space.defined("__abort_msg")
	if at == 0 {
		return ""
	}
	msg, err := h.target.ReadPointer(at)
	if err != nil || msg == 0 {
		return ""
	}
	b := make([]byte, maxAbortMessage)
	n, _ := h.target.Proc.ReadAt(b, int64(msg))
	if n < 4 {
		return ""
	}
	size := binary.LittleEndian.Uint32(b) // of the mapping, which begins with it
	text := b[4:max(4, min(uint64(n), uint64(size)))]
	if i := slices.Index(text, 0); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))
}

// Aborted is why malloc has ended the program of which a thread is at SIGABRT, nil if malloc has not.
func (h *Mallocs) Aborted(t *inferior.Thread) *MallocAbort {
	if t == nil || h.target.Proc == nil {
		return nil
	}
	message := h.abortMessage()
	kind, ok := abortKind(message)
	if !ok {
		return nil
	}
	a := &MallocAbort{Message: message, Kind: kind, Off: h.target.Settings.WrongFrees == target.WrongFreesOff, Threads: map[int]int{}}
	_, err := h.queries.BlockEvents()
	a.Unrecorded = err != nil
	if kind == AbortWrongFree || kind == AbortEither {
		a.Wrong = h.lastWrong(t)
	}
	if a.Wrong == nil && kind != AbortWrongFree { // the heap may tell more
		if all, err := h.Allocator(); err == nil {
			a.Damage, a.Threads = all.Damage[:min(len(all.Damage), maxAbortDamage)], all.Threads
			a.More = len(all.Damage) - len(a.Damage) + all.MoreDamage()
		}
	}
	return a
}

// lastWrong is the last recorded call of a thread if that has freed what is not a block.
func (h *Mallocs) lastWrong(t *inferior.Thread) *query.WrongFree {
	r, err := h.queries.BlockEvents()
	if err != nil {
		return nil
	}
	var last capture.Event
	from := uint64(0)
	if seq := h.recorded.Seq(); seq > maxLastEvents {
		from = seq - maxLastEvents
	}
	for e := range r.Source.Events(from) {
		if int(e.TID) == t.TID {
			last = e
		}
	}
	if e, ok := query.EventAt(r.Source, last.Seq); ok && (e.Kind == capture.Free || e.Kind == capture.Realloc) {
		return r.WrongFree(e, query.Past{})
	}
	return nil
}
