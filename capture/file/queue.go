package file

import (
	"sync"

	"hdb/internal/panics"
)

// maxQueued is how many jobs may wait: with those of events it bounds the memory
// of a recording that is faster than what encodes or writes it.
const maxQueued = 8

// A queue does jobs one after the other, in their order, on a goroutine of its
// own that only exists while there are any. The field failed must be set before the first job.
type queue struct {
	failed  func(error) // is called with the panic of a job; the next jobs are done all the same
	mu      sync.Mutex
	changed sync.Cond // the first job of jobs was done
	jobs    []func()  // the first is being done
	did     uint64    // jobs that are done
}

// add adds a job. It waits while too many do.
func (q *queue) add(job func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.L = &q.mu
	for len(q.jobs) > maxQueued {
		q.changed.Wait()
	}
	q.jobs = append(q.jobs, job)
	if len(q.jobs) == 1 {
		go q.work(job)
	}
}

// wait returns when all jobs are done that were added before. Others may be added
// meanwhile, without end.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.L = &q.mu
	for all := q.did + uint64(len(q.jobs)); q.did < all; {
		q.changed.Wait()
	}
}

func (q *queue) work(job func()) {
	for job != nil {
		if err := panics.Catch(job); err != nil {
			q.failed(err)
		}
		job = q.done()
	}
}

// done takes the first job off the queue and returns the next one, or nil.
func (q *queue) done() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs[0] = nil
	q.jobs = q.jobs[1:]
	q.did++
	q.changed.Broadcast()
	if len(q.jobs) == 0 {
		q.jobs = nil
		return nil
	}
	return q.jobs[0]
}
