package file

import (
	"bytes"
	"io"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
)

const benchEvents = 4 * eventsPerChunk

// reportEvents adds events a second and bytes an event to a benchmark of n
// events.
func reportEvents(b *testing.B, bytes int) {
	b.ReportMetric(float64(b.N)*benchEvents/b.Elapsed().Seconds()/1e6, "Mevents/s")
	if bytes > 0 {
		b.ReportMetric(float64(bytes)/benchEvents, "B/event")
	}
}

func BenchmarkWrite(b *testing.B) {
	events := capturetest.SampleEventsWithEnds(1, benchEvents)
	var size int64
	for b.Loop() {
		w, err := NewWriter(io.Discard, capturetest.SampleInfo)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range events {
			w.AddEvent(&e)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		size = w.Size()
	}
	reportEvents(b, int(size))
}

func BenchmarkLog(b *testing.B) {
	events := capturetest.SampleEventsWithEnds(1, benchEvents)
	var log *Log
	for b.Loop() {
		log = NewLog(capturetest.SampleInfo)
		for _, e := range events {
			log.AddEvent(&e)
		}
		log.queue.wait()
	}
	size := 0
	for _, block := range log.blocks {
		size += cap(block.payload) + block.length
	}
	reportEvents(b, size)
}

func benchFile(b *testing.B) *File {
	_, data := session(b, benchEvents)
	f, err := NewFile("bench.hdb", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	return f
}

func BenchmarkRead(b *testing.B) {
	f := benchFile(b)
	for b.Loop() {
		n := 0
		for range f.Events(0) {
			n++
		}
		if n != benchEvents {
			b.Fatal(n)
		}
	}
	reportEvents(b, 0)
}

// BenchmarkSeek looks for an event whose chunk is not in the cache.
func BenchmarkSeek(b *testing.B) {
	f := benchFile(b)
	for b.Loop() {
		f.reader.blocks.entries = nil
		if _, ok := f.Event(benchEvents / 2); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	_, data := session(b, benchEvents)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := NewFile("bench.hdb", bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIntern(b *testing.B) {
	var stacks []capture.Stack
	for i := range 1000 {
		stacks = append(stacks, capturetest.SampleStack(i))
	}
	log := NewLog(capturetest.SampleInfo)
	for i := 0; b.Loop(); i++ {
		log.Intern(stacks[i%len(stacks)])
	}
}
