package python

import (
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// A Task is a task of asyncio.
type Task struct {
	At      addr.Run
	Name    string
	Running bool     // in some thread
	Frames  []Frame  // of its coroutines, the one that waits first; At is 0 of one that is being made
	Waits   string   // what that one waits for, "" if it is not known
	Waiters []*Task  // the tasks that await it
	coro    addr.Run // its outermost coroutine
}

// Bounds of what is read of asyncio.
const (
	maxTasks   = 10000
	maxAwaits  = 1000 // coroutines that await one another
	maxWaiters = 64   // futures between a task and those that await it
)

// Tasks are the tasks of asyncio in the interpreter of a thread that are not done.
func (in *Interpreter) Tasks(s State) ([]*Task, error) { return asyncio{in.bounded()}.tasks(s) }

// asyncio reads the objects of asyncio of an interpreter.
type asyncio struct{ *Interpreter }

func (in asyncio) tasks(s State) ([]*Task, error) {
	module, err := in.module(s, "asyncio.tasks")
	if err != nil || module == 0 {
		return nil, err
	}
	var found []addr.Run
	for _, name := range []string{"_all_tasks", "_scheduled_tasks", "_eager_tasks"} { // up to 3.11, from 3.12 on
		set, err := in.mem.Attribute(module, name)
		if err != nil {
			continue
		}
		members, err := in.taskSet(set.At)
		if err != nil {
			return nil, fmt.Errorf("asyncio: %s: %w", name, err)
		}
		found = append(found, members...)
	}
	known := map[addr.Run]*Task{}
	var all []*Task
	for _, at := range found {
		if known[at] != nil || len(all) == maxTasks {
			continue
		}
		t, err := in.task(at)
		if err != nil || t == nil {
			continue // one that is being made or taken down
		}
		known[at] = t
		all = append(all, t)
	}
	for _, t := range all {
		for _, w := range in.waiters(t.At) {
			if by := known[w]; by != nil && by != t {
				t.Waiters = append(t.Waiters, by)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Task) int { // Task-9 before Task-10
		if len(a.Name) != len(b.Name) {
			return len(a.Name) - len(b.Name)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// taskSet are the members of a set or of a WeakSet, which has weak references in one.
func (in asyncio) taskSet(at addr.Run) ([]addr.Run, error) {
	c, err := in.mem.ClassOf(at)
	if err != nil {
		return nil, err
	}
	if c.Name == "set" {
		all, _, err := in.mem.Members(at, maxTasks)
		return all, err
	}
	data, err := in.mem.Attribute(at, "data")
	if err != nil {
		return nil, err
	}
	refs, _, err := in.mem.Members(data.At, maxTasks)
	var all []addr.Run
	for _, ref := range refs {
		if to, err := in.mem.Field(ref, in.layout.Weakref.Object); err == nil && to != 0 {
			all = append(all, to)
		}
	}
	return all, err
}

// isTask tells an object of _asyncio.Task or of a class made of it; own is false of one
// whose class asyncio has in Python, which has attributes.
func (in asyncio) isTask(at addr.Run) (ok, own bool) {
	return in.isOf(at, "_asyncio.Task", "Task")
}

// isFuture is isTask of any future.
func (in asyncio) isFuture(at addr.Run) (ok, own bool) {
	if ok, own = in.isTask(at); ok {
		return ok, own
	}
	return in.isOf(at, "_asyncio.Future", "Future")
}

func (in asyncio) isOf(at addr.Run, own, python string) (ok, isOwn bool) {
	c, err := in.mem.ClassOf(at)
	if err != nil {
		return false, false
	}
	for b := range c.Bases() {
		if b.Name == own || b.Name == python && b.Flags&layout.IsHeapType != 0 {
			return true, b.Name == own
		}
	}
	return false, false
}

// field is what a task has at an offset of its struct, or as an attribute.
func (in asyncio) field(at addr.Run, own bool, offset int, name string) addr.Run {
	if own {
		to, _ := in.mem.Field(at, offset) // 0 of what cannot be read
		return to
	}
	v, err := in.mem.Attribute(at, name)
	if err != nil || in.isNone(v.At) {
		return 0
	}
	return v.At
}

func (in asyncio) isNone(at addr.Run) bool {
	return in.mem.Singleton(at) == "None"
}

// task reads one, nil if it is done.
func (in asyncio) task(at addr.Run) (*Task, error) {
	ok, own := in.isTask(at)
	if !ok {
		return nil, nil
	}
	l := in.layout.Task
	if own {
		b, err := in.mem.Read(at+addr.Run(l.State), 4)
		if err != nil || intIn(b, 0) != 0 { // cancelled or finished
			return nil, err
		}
	} else if v, err := in.mem.Attribute(at, "_state"); err != nil || !in.mem.HasText(v.At, "PENDING") {
		return nil, err
	}
	t := &Task{At: at, Name: in.taskName(at, own), coro: in.field(at, own, l.Coroutine, "_coro")}
	var last addr.Run
	t.Frames, last, t.Running = in.awaiting(t.coro)
	if waits := in.field(at, own, l.Waiter, "_fut_waiter"); waits != 0 {
		last = waits
	}
	if last != 0 && !t.Running {
		t.Waits = in.awaitedText(last)
	}
	return t, nil
}

// taskName is the name of a task; one that was not asked for is a number from 3.12 on.
func (in asyncio) taskName(at addr.Run, own bool) string {
	name := in.field(at, own, in.layout.Task.Name, "_name")
	if name == 0 {
		return "?"
	}
	c, err := in.mem.ClassOf(name)
	switch {
	case err != nil:
		return "?"
	case c.Flags&layout.IsInt != 0:
		if n, err := in.mem.Number(name); err == nil {
			return "Task-" + n.String()
		}
	case c.Flags&layout.IsText != 0:
		if s, err := in.mem.Text(name); err == nil {
			return s
		}
	}
	return "?"
}

// awaiting are the frames of a coroutine and of those that it awaits, the last one first, and
// what that one waits for. The frames of one that runs are on the stack of its thread.
func (in asyncio) awaiting(at addr.Run) (frames []Frame, last addr.Run, running bool) {
	for n := 0; at != 0 && n < maxAwaits; n++ {
		c, err := in.mem.ClassOf(at)
		if err != nil {
			break
		}
		switch c.Short() {
		case "coroutine", "generator", "async_generator":
		case "async_generator_asend", "async_generator_athrow", "coroutine_wrapper", "anext_awaitable":
			at, _ = in.mem.Field(at, in.layout.Awaited) // 0 ends it
			continue
		default:
			slices.Reverse(frames)
			return frames, at, running
		}
		g, err := in.generatorAt(at)
		if err != nil || g.code == nil {
			break
		}
		running = running || g.running
		frames = append(frames, Frame{At: g.frame, Code: g.code, Line: g.line})
		at = g.awaits
	}
	slices.Reverse(frames)
	return frames, 0, running
}

// awaitedText says what is waited for: tasks by their names.
func (in asyncio) awaitedText(at addr.Run) string {
	c, err := in.mem.ClassOf(at)
	if err != nil {
		return ""
	}
	if c.Short() == "FutureIter" {
		if at, err = in.mem.Field(at, in.layout.Awaited); err != nil || at == 0 {
			return ""
		}
	}
	if ok, own := in.isTask(at); ok {
		return "task " + in.taskName(at, own)
	}
	if children, err := in.mem.Attribute(at, "_children"); err == nil { // of gather()
		n, err := in.mem.Length(children)
		if err != nil {
			return "gather()"
		}
		var all []string
		for i := range int64(min(n, 10)) {
			v, err := in.mem.Element(children, i)
			if ok, own := in.isTask(v.At); err == nil && ok {
				all = append(all, in.taskName(v.At, own))
			}
		}
		if n > uint64(len(all)) {
			all = append(all, fmt.Sprintf("... (%d in all)", n))
		}
		return "gather() of " + strings.Join(all, ", ")
	}
	if c, err = in.mem.ClassOf(at); err != nil {
		return ""
	}
	return "a " + c.Short()
}

// waiters are the tasks that are woken when a future is done: by its callbacks, through
// gather(), wait() and the like, whose callbacks have the future that they will set.
func (in asyncio) waiters(future addr.Run) (tasks []addr.Run) {
	seen := map[addr.Run]bool{future: true}
	for queue := []addr.Run{future}; len(queue) > 0 && len(seen) < maxWaiters; queue = queue[1:] {
		for _, callback := range in.callbacks(queue[0]) {
			for _, to := range in.wakes(callback) {
				if to == 0 || seen[to] {
					continue
				}
				seen[to] = true
				if ok, _ := in.isTask(to); ok {
					tasks = append(tasks, to)
				} else if ok, _ := in.isFuture(to); ok {
					queue = append(queue, to)
				}
			}
		}
	}
	return tasks
}

// callbacks are those of a future.
func (in asyncio) callbacks(future addr.Run) (all []addr.Run) {
	ok, own := in.isFuture(future)
	if !ok {
		return nil
	}
	if own {
		if first, err := in.mem.Field(future, in.layout.Future.Callback); err == nil && first != 0 {
			all = append(all, first)
		}
	}
	more := inspect.Value{At: in.field(future, own, in.layout.Future.Callbacks, "_callbacks")}
	if more.At == 0 {
		return all
	}
	n, err := in.mem.Length(more)
	if err != nil {
		return all
	}
	for i := range int64(min(n, maxWaiters)) {
		pair, err := in.mem.Element(more, i)
		if err != nil {
			return all
		}
		if v, err := in.mem.Element(pair, 0); err == nil {
			all = append(all, v.At)
		}
	}
	return all
}

// wakes are the tasks and futures that a callback will continue with: what it is bound to, what it
// shares with the function that made it, its arguments.
func (in asyncio) wakes(callback addr.Run) (all []addr.Run) {
	c, err := in.mem.ClassOf(callback)
	if err != nil {
		return nil
	}
	switch c.Short() {
	case "TaskWakeupMethWrapper": // up to 3.9
		to, _ := in.mem.Field(callback, in.layout.Awaited)
		return []addr.Run{to}
	case "builtin_function_or_method", "method":
		self, err := in.mem.Field(callback, in.layout.Method.Self)
		if err != nil {
			return nil
		}
		if parent, err := in.mem.Attribute(self, "_parent_task"); err == nil { // of a TaskGroup
			return []addr.Run{parent.At}
		}
		return []addr.Run{self}
	case "partial":
		args, err := in.mem.Field(callback, in.layout.Partial.Args)
		if err != nil {
			return nil
		}
		return in.tuple(args)
	case "function":
		cells, err := in.mem.Field(callback, in.layout.Function.Closure)
		if err != nil || cells == 0 {
			return nil
		}
		for _, cell := range in.tuple(cells) {
			if to, err := in.mem.Field(cell, in.layout.Cell); err == nil && to != 0 {
				if ok, _ := in.isTask(to); !ok { // a child, which is what calls back
					all = append(all, to)
				}
			}
		}
	}
	return all
}

// tuple are the first elements of one.
func (in asyncio) tuple(at addr.Run) []addr.Run {
	all, _ := in.mem.Elements(at, maxWaiters) // what cannot be read has none
	return all
}

// Runs reports whether a task is the one that runs in a stack: its coroutine is there.
func (t *Task) Runs(stack []Frame) bool {
	return t.Running && slices.ContainsFunc(t.Frames, func(f Frame) bool {
		return slices.ContainsFunc(stack, func(s Frame) bool { return s.At == f.At })
	})
}
