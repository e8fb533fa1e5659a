package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hdb/capture"
)

// dhatHead are the fields of a file of valgrind's DHAT, version 2, before its
// program points.
type dhatHead struct {
	Version   int    `json:"dhatFileVersion"`
	Mode      string `json:"mode"`
	Verb      string `json:"verb"`
	Lifetimes bool   `json:"bklt"`
	Accesses  bool   `json:"bkacc"`
	Unit      string `json:"tu"`
	MegaUnit  string `json:"Mtu"`
	Short     int64  `json:"tuth,omitempty"` // lifetimes up to this are short
	Command   string `json:"cmd"`
	PID       int    `json:"pid"`
	End       int64  `json:"te"`
	Peak      *int64 `json:"tg,omitempty"`
}

// A dhatPoint is a program point: all blocks of one stack.
type dhatPoint struct {
	Bytes  uint64 `json:"tb"`
	Blocks uint64 `json:"tbk"`
	*dhatLife
	Frames []int `json:"fs"` // innermost first
}

// A dhatLife is what is only known when every event was followed.
type dhatLife struct {
	Lived      uint64 `json:"tl"`
	MaxBytes   uint64 `json:"mb"`
	MaxBlocks  uint64 `json:"mbk"`
	PeakBytes  uint64 `json:"gb"`
	PeakBlocks uint64 `json:"gbk"`
	EndBytes   uint64 `json:"eb"`
	EndBlocks  uint64 `json:"ebk"`
}

// dhatShort is the lifetime in microseconds that counts as short.
const dhatShort = 10

// WriteDHAT writes a file for valgrind's dh_view.html and what else reads DHAT's.
// Times are microseconds. Nothing tells how often blocks were read and written.
// Lifetimes come from o.Recording; without one the file has only the totals.
func WriteDHAT(w io.Writer, p *Profile, o Options) error {
	points, rows, frames := p.dhatPoints()
	head := dhatHead{
		Version: 2, Mode: "rhdb", Verb: "Allocated", Unit: "µs", MegaUnit: "s",
		Command: p.carefulTitle(), PID: p.PID, End: p.Moment.Time.Microseconds(),
	}
	if o.Recording != nil && dhatLives(points, o.Recording.lives(rows, len(points), p.Moment.Time)) {
		peak := p.Peak.Time.Microseconds()
		head.Lifetimes, head.Short, head.Peak = true, dhatShort, &peak
	} else {
		for i := range points {
			points[i].dhatLife = nil
		}
	}
	out := bufio.NewWriter(w)
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	out.WriteString(strings.TrimSuffix(string(text), "}") + `,"pps":[`)
	for i := range points {
		if i > 0 {
			out.WriteByte(',')
		}
		if text, err = json.Marshal(points[i]); err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString(`],"ftbl":[`)
	for i, f := range frames {
		if i > 0 {
			out.WriteByte(',')
		}
		if text, err = json.Marshal(f); err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// dhatPoints are the stacks as program points, the point of each stack, and the
// frames that they count through. Stacks that look the same are one: readers
// insist on it.
func (p *Profile) dhatPoints() (points []dhatPoint, rows map[capture.StackID]int, frames []string) {
	frames = []string{"[root]"}
	known := map[string]int{}
	frame := func(text string) int {
		i, ok := known[text]
		if !ok {
			i = len(frames)
			known[text] = i
			frames = append(frames, text)
		}
		return i
	}
	rows = map[capture.StackID]int{}
	same := map[string]int{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		var fs []int
		for _, f := range s.Frames {
			fs = append(fs, frame(p.valgrindFrame(f)))
		}
		if outer := s.Placeholder(); outer != "" {
			fs = append(fs, frame(Plain(outer)))
		}
		key := fmt.Sprint(fs)
		k, ok := same[key]
		if !ok {
			k = len(points)
			same[key] = k
			points = append(points, dhatPoint{Frames: fs, dhatLife: &dhatLife{}})
		}
		rows[s.ID] = k
		point := &points[k]
		point.Bytes += s.Bytes
		point.Blocks += s.Allocs
		point.PeakBytes += s.Peak
		point.PeakBlocks += s.PeakBlocks
		point.EndBytes += s.Live
		point.EndBlocks += s.LiveBlocks
	}
	return points, rows, frames
}

// valgrindFrame is a frame as valgrind prints one.
func (p *Profile) valgrindFrame(i int) string {
	f := &p.Frames[i]
	text := fmt.Sprintf("0x%X: ", f.Address)
	if f.Unnamed {
		text += "???"
	} else {
		text += Plain(f.Function)
	}
	switch {
	case f.File != "" && f.Line > 0:
		return text + fmt.Sprintf(" (%s:%d)", Plain(f.File), f.Line)
	case f.File != "":
		return text + fmt.Sprintf(" (%s)", Plain(f.File))
	case f.Module >= 0:
		return text + fmt.Sprintf(" (in %s)", Plain(p.Modules[f.Module].Path))
	}
	return text
}

// dhatLives completes the points. It is false if following the events led to
// another heap than the profile has: then some of them do not tell which blocks
// they ended.
func dhatLives(points []dhatPoint, lives []life) bool {
	for i := range points {
		p, l := &points[i], &lives[i]
		if l.bytes != p.EndBytes || l.blocks != p.EndBlocks {
			return false
		}
		p.Lived, p.MaxBytes, p.MaxBlocks = l.lived, l.maxBytes, l.maxBlocks
	}
	return true
}
