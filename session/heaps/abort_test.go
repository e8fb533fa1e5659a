package heaps

import "testing"

// TestAbortKinds has the messages of malloc/malloc.c and malloc/arena.c of glibc 2.31 to 2.41, and some of others.
func TestAbortKinds(t *testing.T) {
	for message, want := range map[string]AbortKind{
		"free(): double free detected in tcache 2":                   AbortWrongFree,
		"double free or corruption (fasttop)":                        AbortWrongFree,
		"double free or corruption (top)":                            AbortEither,
		"double free or corruption (!prev)":                          AbortEither,
		"free(): invalid pointer":                                    AbortWrongFree,
		"free(): invalid size":                                       AbortEither,
		"free(): invalid next size (fast)":                           AbortOverwritten,
		"free(): invalid next size (normal)":                         AbortOverwritten,
		"free(): corrupted unsorted chunks":                          AbortLink,
		"free(): unaligned chunk detected in tcache 2":               AbortLink,
		"free(): too many chunks detected in tcache":                 AbortOther,
		"munmap_chunk(): invalid pointer":                            AbortEither,
		"mremap_chunk(): invalid pointer":                            AbortOther,
		"realloc(): invalid pointer":                                 AbortWrongFree,
		"realloc(): invalid old size":                                AbortEither,
		"realloc(): invalid next size":                               AbortOverwritten,
		"realloc(): unaligned tcache chunk detected":                 AbortLink,
		"malloc(): corrupted top size":                               AbortOverwritten,
		"malloc(): memory corruption (fast)":                         AbortLink,
		"malloc(): invalid size (unsorted)":                          AbortOverwritten,
		"malloc(): invalid next size (unsorted)":                     AbortOverwritten,
		"malloc(): mismatching next->prev_size (unsorted)":           AbortOverwritten,
		"malloc(): unsorted double linked list corrupted":            AbortLink,
		"malloc(): invalid next->prev_inuse (unsorted)":              AbortOverwritten,
		"malloc(): largebin double linked list corrupted (nextsize)": AbortLink,
		"malloc(): smallbin double linked list corrupted":            AbortLink,
		"malloc_consolidate(): unaligned fastbin chunk detected":     AbortLink,
		"malloc_consolidate(): invalid chunk size":                   AbortOverwritten,
		"corrupted size vs. prev_size while consolidating":           AbortOverwritten,
		"corrupted double-linked list (not small)":                   AbortLink,
		"tcache_thread_shutdown(): unaligned tcache chunk detected":  AbortLink,
	} {
		if got, ok := abortKind(message); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", message, got, ok, want)
		}
	}
	for _, message := range []string{"", "*** stack smashing detected ***: terminated", "prog: a.c:3: f: Assertion `corrupted' failed.", "Fatal glibc error: pthread_mutex_lock.c:94"} {
		if got, ok := abortKind(message); ok {
			t.Errorf("%q is taken for malloc's, %d", message, got)
		}
	}
}
