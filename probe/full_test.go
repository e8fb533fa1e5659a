package probe

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"hdb/internal/addr"
	"hdb/testprogs"
)

// fill leaves room for n bytes in the ring.
func (l *lab) fill(n uint64) {
	size := uint64(ringSize) - ringSpare - n
	at := l.shared.word(hdHead).Load()
	l.shared.word(hdHead).Store(at + size)
	l.shared.record(at).Store(recPad | size/16<<countShift)
}

// newFullLab makes one for tests whose threads wait in the core: the garbage
// collector, which cannot interrupt them, must not stop the others meanwhile,
// and they keep a processor from these.
func newFullLab(t *testing.T) *lab {
	l := newLab(t, Request{Record: true})
	percent := debug.SetGCPercent(-1)
	runtime.GC()
	processors := runtime.GOMAXPROCS(4)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	})
	return l
}

// eitherWait runs a test with threads that wait by system calls, and by spinning.
func eitherWait(t *testing.T, test func(*testing.T, *lab)) {
	for _, quiet := range []uint64{0, quietWaits} {
		t.Run(fmt.Sprintf("quiet=%d", quiet), func(t *testing.T) {
			l := newFullLab(t)
			l.setState(stQuiet, quiet)
			test(t, l)
		})
	}
}

// A thread waits for room, and goes on when there is some.
func TestFullRing(t *testing.T) { eitherWait(t, fullRing) }

func fullRing(t *testing.T, l *lab) {
	th := l.thread(1)
	l.fill(recordSize - 16)
	drained := make(chan struct{})
	go func() {
		for l.shared.half(hdWaiting).Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		l.Drain()
		close(drained)
	}()
	th.call(here, "free", 0x5000) // its stack waits first
	<-drained
	th.ret(0)
	l.Drain()
	l.expect(t, "free(0x5000)")
	if s := l.Stats(); s.Waits == 0 || s.Lost != 0 || s.LostSt != 0 {
		t.Errorf("%+v", s)
	}
	if n := l.shared.half(hdWaiting).Load(); n != 0 {
		t.Errorf("%d threads wait", n)
	}
}

// A thread that has seen room takes it when others have filled the ring: there is some left.
func TestFullRingTakenLate(t *testing.T) {
	l := newFullLab(t)
	d := l.deep(10, false)
	l.setState(stEnabled, quickEnabled)
	d.th.sp -= 8
	d.th.jump("free", 0x4000) // then its stack is known
	l.Drain()
	l.lines = nil
	at := l.remote.core + addr.Run(l.core.marks[markTakeQuick])
	code := slices.Clone(l.at(at)[:jumpSize])
	l.interruptAt(at)
	if exit := d.th.jump("free", 0x5000); exit != exitInterrupt {
		t.Fatalf("exit %d", exit)
	}
	copy(l.at(at), code)
	l.fill(0)
	d.th.run(at)
	if n := l.head() - l.tail; n <= ringSize-ringSpare || n > ringSize {
		t.Errorf("%d bytes of %d are taken", n, ringSize)
	}
	l.Drain()
	l.expect(t, "free(0x5000)")
}

// A thread that others forestall each time waits as long as the consumer works.
func TestFullAgain(t *testing.T) { eitherWait(t, fullAgain) }

func fullAgain(t *testing.T, l *lab) {
	th := l.thread(1)
	l.fill(0)
	go func() {
		for range 1000 { // more than it waits times
			l.shared.half(hdDrained).Add(1)
			futexWake(l.shared.half(hdDrained))
			time.Sleep(time.Microsecond) // it has to come back
		}
		l.Drain()
	}()
	th.call(here, "free", 0x5000)
	th.ret(0)
	l.Drain()
	l.expect(t, "free(0x5000)")
	if s := l.Stats(); s.Lost != 0 || s.LostSt != 0 {
		t.Errorf("%+v", s)
	}
}

// It waits two seconds for a consumer that does nothing; those that come later do not
// wait, until the consumer is seen to work.
func TestConsumerStands(t *testing.T) {
	l := newFullLab(t)
	th := l.thread(1)
	l.fill(0)
	began := time.Now()
	th.call(here, "free", 0x5000)
	th.ret(0)
	if took := time.Since(began); took < time.Second {
		t.Errorf("waited %v", took)
	}
	began = time.Now()
	for range 1000 {
		th.call(here, "free", 0x6000)
		th.ret(0)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("waited %v more", took)
	}
	if s := l.Stats(); s.Lost != 1001 || s.LostSt != 1001 || s.Stacks != 0 {
		t.Errorf("%+v, want 1001 events and as many stacks lost", s)
	}
	l.Drain()
	l.expect(t)
	th.call(here, "free", 0x7000)
	th.ret(0)
	l.Drain()
	l.expect(t, "free(0x7000)")
	if id := l.events[0].Stack; id == 0 {
		t.Error("the stack that was lost has not been sent again")
	}
}

// Nobody waits for an hdb that is dead, or records anything for it.
func TestConsumerDied(t *testing.T) {
	for _, c := range []struct {
		name  string
		way   uint64
		known bool // the stack
	}{{"new stack", enabled, false}, {"known stack", enabled, true}, {"short way", quickEnabled, true}} {
		t.Run(c.name, func(t *testing.T) {
			l := newFullLab(t)
			th := l.anew()
			l.plainStack(th, 10)
			free := shortCall{"free", []uint64{0x5000}, 0}
			if c.known {
				free.play(*th)
				l.Drain()
			}
			l.setState(stEnabled, c.way)
			l.fill(0)
			died := make(chan time.Time)
			go func() {
				for l.shared.half(hdWaiting).Load() == 0 {
					time.Sleep(time.Millisecond)
				}
				l.shared.half(hdAlive).Store(ownerDied)
				died <- time.Now()
			}()
			free.play(*th)
			back := time.Now()
			if took := back.Sub(<-died); took > 500*time.Millisecond {
				t.Errorf("waited %v after hdb died", took)
			}
			check := func(when string) {
				t.Helper()
				head := l.head()
				free.play(*th)
				if l.state[stEnabled] != 0 {
					t.Errorf("%s: still enabled", when)
				}
				if l.head() != head {
					t.Errorf("%s: recorded", when)
				}
			}
			check("no room")
			l.Drain()
			l.setState(stEnabled, c.way)
			check("room")
		})
	}
}

// The consumer sleeps until a quarter of the ring is full.
func TestWake(t *testing.T) {
	l := newLab(t, Request{Record: true})
	th := l.thread(1)
	th.call(here, "free", 0x5000) // the stack is sent
	th.ret(0)
	sleep := l.shared.half(hdSleep)
	l.shared.word(hdWakeAt).Store(l.shared.word(hdHead).Load() + 2*recordSize)
	sleep.Store(1)
	woken := make(chan struct{})
	go func() {
		for sleep.Load() == 1 {
			futexWait(sleep, 1, int64(time.Hour))
		}
		close(woken)
	}()
	time.Sleep(10 * time.Millisecond)
	th.call(here, "free", 0x6000)
	th.ret(0)
	if sleep.Load() != 1 {
		t.Error("woken too early")
	}
	th.call(here, "free", 0x7000)
	th.ret(0)
	<-woken
	l.Drain()
	l.expect(t, "free(0x5000)", "free(0x6000)", "free(0x7000)")
}

// The consumer that has rested for want of records is woken by the first, and by stop.
func TestWakeFromRest(t *testing.T) {
	l := newLab(t, Request{Record: true})
	l.reader.done, l.reader.idle = make(chan struct{}), make(chan struct{})
	go l.reader.run()
	th := l.thread(1)
	sleep, wakeAt, head := l.shared.half(hdSleep), l.shared.word(hdWakeAt), l.shared.word(hdHead)
	awaitRest := func() (at uint64) {
		t.Helper()
		for end := testprogs.Deadline(t); sleep.Load() == 0 || wakeAt.Load() != head.Load()+1; {
			if time.Now().After(end) {
				t.Fatal("it does not rest")
			}
			time.Sleep(time.Millisecond)
		}
		return wakeAt.Load()
	}
	for block := uint64(0x5000); block < 0xa000; block += 0x1000 {
		at := awaitRest()
		th.call(here, "free", block)
		if sleep.Load() == 1 && wakeAt.Load() == at {
			t.Errorf("free(%#x) did not wake it", block)
		}
		th.ret(0)
	}
	awaitRest()
	l.reader.stop()
	l.expect(t, "free(0x5000)", "free(0x6000)", "free(0x7000)", "free(0x8000)", "free(0x9000)")
}
