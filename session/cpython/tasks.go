package cpython

import (
	"slices"

	"hdb/names"
	"hdb/python"
)

// A Task is a task of asyncio.
type Task struct {
	*python.Task
	Thread bool // the selected thread runs it
}

// Named are the coroutines of a task as frames, the one that waits first.
func (t Task) Named() (all []names.Frame) { return namedTask(t.Task) }

func namedTask(t *python.Task) (all []names.Frame) {
	for i, f := range t.Frames {
		all = append(all, names.Frame{Num: -1, Nth: i, Frame: called(f)})
	}
	return all
}

// Tasks are the tasks of asyncio that are not done, in the interpreters that the selected
// thread is in.
func (p *Python) Tasks() ([]Task, error) {
	s, err := p.Stack()
	if err != nil {
		return nil, err
	}
	return p.tasks(s)
}

func (p *Python) tasks(s Stack) (list []Task, err error) {
	for _, part := range s.parts {
		state, err := p.state(part.In, p.sel.Cur.Thread)
		if err != nil {
			return nil, err
		}
		all, err := part.In.Tasks(state)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			list = append(list, Task{t, t.Runs(s.plain())})
		}
	}
	return list, nil
}

func (s Stack) plain() (all []python.Frame) {
	for _, f := range s.Frames {
		all = append(all, f.Frame)
	}
	return all
}

// An Awaiter is a task that awaits another, which may await it through others.
type Awaiter struct {
	Name   string
	Of     string // the task that it awaits
	Frames []names.Frame
}

// maxAwaiters bounds the tasks that are listed as awaiting one.
const maxAwaiters = 16

// awaiters are the task that the selected thread runs, "" if it runs none, and the tasks
// that await it. waiting is how many tasks there are of an event loop that waits itself.
func (p *Python) awaiters(s Stack) (task string, all []Awaiter, waiting int) {
	inTask := slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.Code.Coroutine })
	inLoop := slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.Code.Name == "_run_once" })
	if !inTask && !inLoop {
		return "", nil, 0
	}
	tasks, err := p.tasks(s)
	if err != nil {
		return "", nil, 0 // py tasks tells why
	}
	i := slices.IndexFunc(tasks, func(t Task) bool { return t.Thread })
	if i < 0 {
		if !inLoop || inTask {
			return "", nil, 0
		}
		return "", nil, len(tasks)
	}
	queue := []*python.Task{tasks[i].Task}
	seen := map[*python.Task]bool{tasks[i].Task: true}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, w := range queue[0].Waiters {
			if seen[w] || len(all) == maxAwaiters {
				continue
			}
			seen[w] = true
			all = append(all, Awaiter{w.Name, queue[0].Name, namedTask(w)})
			queue = append(queue, w)
		}
	}
	return tasks[i].Name, all, 0
}
