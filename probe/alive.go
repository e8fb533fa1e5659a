package probe

import (
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A keeper tells inferiors whether hdb lives. It is an OS thread that holds a
// robust futex (futex(2), set_robust_list(2)) in the memory that is shared with
// each of them: when hdb dies, be it by SIGKILL, the kernel sets
// FUTEX_OWNER_DIED in it.
type keeper struct {
	tid   uint32
	list  *robustList
	mu    sync.Mutex
	nodes []*robustNode
}

// robustList is the kernel's struct robust_list_head, linux/futex.h. The kernel follows the
// addresses in it when the thread ends; they are no pointers, so that a ring of them may be in
// memory that the garbage collector does not know.
type robustList struct {
	first   uintptr // the list is a ring that ends at its head
	offset  int64   // from a node to its futex, the same for all
	pending uintptr
}

// robustNode is a struct robust_list. It is in the header, next to its futex.
type robustNode struct{ next uintptr }

// keep is the one keeper of hdb's process, made on first use.
var keep = sync.OnceValue(func() *keeper {
	k := &keeper{}
	ready := make(chan struct{})
	go k.run(ready)
	<-ready
	return k
})

// run is the thread: it does not end before hdb does.
func (k *keeper) run(ready chan<- struct{}) {
	runtime.LockOSThread()
	k.list = &robustList{offset: hdAlive - hdRobust}
	k.link()
	_, _, errno := unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(k.list)), unsafe.Sizeof(*k.list), 0)
	if errno == 0 {
		k.tid = uint32(unix.Gettid())
	} // else the kernel has no futexes, and no inferior of ours waits on one
	close(ready)
	select {}
}

// link makes the ring of the nodes.
func (k *keeper) link() {
	next := uintptr(unsafe.Pointer(k.list))
	for _, n := range k.nodes {
		n.next = next
		next = uintptr(unsafe.Pointer(n))
	}
	k.list.first = next
}

// change changes the ring, which is whole at any time: the thread may end meanwhile.
func (k *keeper) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
	k.link()
}

// hold makes the futex of a header one that describes hdb's death.
func (k *keeper) hold(s *shared) {
	k.change(func() {
		s.half(hdAlive).Store(k.tid)
		k.nodes = append(k.nodes, s.node())
	})
}

// release takes the futex out of the list, so that the memory may be unmapped.
func (k *keeper) release(s *shared) {
	k.change(func() {
		k.nodes = slices.DeleteFunc(k.nodes, func(n *robustNode) bool { return n == s.node() })
	})
}

func (s *shared) node() *robustNode {
	return (*robustNode)(unsafe.Pointer(&s.file[fileHeader+hdRobust]))
}
