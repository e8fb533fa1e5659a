package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"hdb/capture"
	"hdb/capture/file"
)

// captured is what is in a capture.
type captured struct {
	totals  capture.Totals
	bytes   int64
	kinds   map[uint8]int64 // bytes of the chunks of each kind
	damaged error
}

func readCapture(path string) (captured, error) {
	f, err := file.Open(path)
	if err != nil {
		return captured{}, err
	}
	defer f.Close()
	c := captured{totals: f.Info().Totals, damaged: f.Damage()}
	if c.bytes, err = size(path); err != nil {
		return c, err
	}
	r, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer r.Close()
	c.kinds, err = chunkSizes(r, c.bytes)
	return c, err
}

// Of a capture's chunks, as docs/capture-format.md numbers them.
const (
	fileHeader  = 16
	chunkHeader = 24
	kindStacks  = 5
	kindEvents  = 6
)

// chunkSizes adds up the chunks of an undamaged capture by their kind.
func chunkSizes(r io.ReaderAt, end int64) (map[uint8]int64, error) {
	kinds := map[uint8]int64{}
	var h [chunkHeader]byte
	for at := int64(fileHeader); at < end; {
		if _, err := r.ReadAt(h[:], at); err != nil {
			return nil, fmt.Errorf("chunk at %d: %w", at, err)
		}
		n := chunkHeader + int64(binary.LittleEndian.Uint32(h[12:]))
		kinds[h[8]] += n
		at += n
	}
	return kinds, nil
}

// remark says how complete a recording of so many calls is, and where its bytes
// are.
func (c captured) remark(calls float64) string {
	if c.totals.Events == 0 {
		return ""
	}
	events := float64(c.totals.Events)
	part := func(bytes int64) string { return digits(float64(bytes) / events) }
	s := fmt.Sprintf("%.2f M events: %s, stacks %s, all else %s", events/1e6, part(c.kinds[kindEvents]),
		part(c.kinds[kindStacks]), part(c.bytes-c.kinds[kindEvents]-c.kinds[kindStacks]))
	return remarks(s, c.missing(calls))
}

// missing says what a recording lacks.
func (c captured) missing(calls float64) string {
	s := ""
	if share := float64(c.totals.Events) / calls; c.totals.Events > 0 && share < 0.999 {
		s = fmt.Sprintf("only %.1f%% of the calls", 100*share)
	}
	if c.damaged != nil {
		s = remarks(s, c.damaged.Error())
	}
	return s
}
