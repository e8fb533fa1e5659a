package session

import (
	"testing"

	"hdb/session/stopped"
	"hdb/session/target"
)

// spawning has a function that is inlined in what the compiler makes of a go statement.
const spawning = `package main

type job struct{ id int }

//go:noinline
func work(j *job) int {
	n := j.id
	for i := range 10 {
		n += i
	}
	return n // the end
}

func worker(in <-chan *job, out chan<- int) {
	for j := range in {
		out <- work(j)
	}
}

func main() {
	in, out := make(chan *job), make(chan int)
	go worker(in, out)
	for i := range 100 {
		in <- &job{i}
		<-out
	}
}
`

// TestReturnIntoWrapper: steps out of a function end in its caller, though that is inlined in a function which the compiler
// has made.
func TestReturnIntoWrapper(t *testing.T) {
	program := buildGo(t, spawning)
	for _, c := range []struct {
		at   string
		step func(*Session) (*stopped.Report, error)
	}{
		{"main.work if j.id == 5", func(s *Session) (*stopped.Report, error) { return s.Stepping.Finish() }},
		{"mixed.go:11 if j.id == 5", func(s *Session) (*stopped.Report, error) { return s.Stepping.Next(1) }},
		{"mixed.go:11 if j.id == 5", func(s *Session) (*stopped.Report, error) { return s.Stepping.Step(1) }},
	} {
		s := open(t, "golang")
		if _, err := s.Load(program); err != nil {
			t.Fatal(err)
		}
		setBreak(t, s, c.at)
		must(t)(s.Run(nil))
		if got := s.Mode(); got != target.Live {
			t.Fatalf("%s: %v", c.at, got)
		}
		r, err := c.step(s)
		if err != nil || len(r.Frames) == 0 || r.Frames[0].Function != "main.worker" {
			t.Errorf("%s: %v, %+v", c.at, err, r)
		}
	}
}
