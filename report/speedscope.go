package report

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// speedscopeSchema names the format. The types below are its parts of that name.
const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // of the call
}

type speedscopeSampled struct {
	Type       string   `json:"type"` // "sampled"
	Name       string   `json:"name"`
	Unit       string   `json:"unit"` // "bytes" or "none"
	StartValue uint64   `json:"startValue"`
	EndValue   uint64   `json:"endValue"` // the sum of Weights
	Samples    [][]int  `json:"samples"`  // frames, outermost first
	Weights    []uint64 `json:"weights"`
}

type speedscopeHead struct {
	Schema   string `json:"$schema"`
	Exporter string `json:"exporter"`
	Name     string `json:"name"`
	Active   int    `json:"activeProfileIndex"`
	Shared   struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
}

// WriteSpeedscope writes a profile for speedscope.app with one profile for each measure. The
// profile of o.Measure is shown first.
func WriteSpeedscope(w io.Writer, p *Profile, o Options) error {
	p = p.Counted()
	head := speedscopeHead{Schema: speedscopeSchema, Exporter: "hdb", Name: p.carefulTitle(), Active: int(o.Measure)}
	head.Shared.Frames = []speedscopeFrame{}
	rows := map[speedscopeFrame]int{}
	frame := func(f speedscopeFrame) int {
		i, ok := rows[f]
		if !ok {
			i = len(rows)
			rows[f] = i
			head.Shared.Frames = append(head.Shared.Frames, f)
		}
		return i
	}
	stacks := make([][]int, len(p.Stacks))
	for i := range p.Stacks {
		s := &p.Stacks[i]
		texts, outer := p.outermost(s)
		for _, text := range texts[:outer] {
			stacks[i] = append(stacks[i], frame(speedscopeFrame{Name: Plain(text)}))
		}
		for _, k := range slices.Backward(s.Frames) {
			f := &p.Frames[k]
			stacks[i] = append(stacks[i], frame(speedscopeFrame{Name: Plain(f.Function), File: Plain(f.File), Line: f.Line}))
		}
	}
	out := bufio.NewWriter(w)
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	out.WriteString(strings.TrimSuffix(string(text), "}") + `,"profiles":[`)
	for m := range numMeasures {
		if m > 0 {
			out.WriteByte(',')
		}
		if text, err = json.Marshal(p.sampled(m, stacks)); err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// sampled is what a measure counts of each stack.
func (p *Profile) sampled(m Measure, stacks [][]int) speedscopeSampled {
	out := speedscopeSampled{Type: "sampled", Name: m.Title(), Unit: "none", Samples: [][]int{}, Weights: []uint64{}}
	if m.IsBytes() {
		out.Unit = "bytes"
	}
	for i := range p.Stacks {
		if n := m.Of(p.Stacks[i].Numbers); n > 0 {
			out.Samples = append(out.Samples, stacks[i])
			out.Weights = append(out.Weights, n)
			out.EndValue += n
		}
	}
	return out
}
