package report

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"
)

// WritePprof writes a compressed profile.proto, as go tool pprof and the
// continuous profilers read it. Its first four values are those of Go's heap
// profiles, in their order: objects and bytes allocated, objects and bytes in
// use. Measures that Go lacks follow where one of them is asked for. The value
// that o.Measure names is shown first.
func WritePprof(w io.Writer, p *Profile, o Options) error {
	p = p.Counted()
	b := pprofile{p: p, same: sameFrames(p.Frames), mappings: map[pprofSpan]*profile.Mapping{}, functions: map[profile.Function]*profile.Function{}, locations: map[string]*profile.Location{}}
	b.out = &profile.Profile{
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1, // each allocation, not a sample of them
		DurationNanos: int64(p.Moment.Time - p.Begin),
		Comments:      p.remarks(),
	}
	if !p.Start.IsZero() {
		b.out.TimeNanos = p.Start.UnixNano()
	}
	b.mapProgram()
	values := pprofValues(o.Measure)
	for _, v := range values {
		b.out.SampleType = append(b.out.SampleType, &profile.ValueType{Type: v.name, Unit: v.unit})
		if v.measure == o.Measure {
			b.out.DefaultSampleType = v.name
		}
	}
	for i := range p.Stacks {
		b.sample(&p.Stacks[i], values)
	}
	return b.out.Write(w)
}

type pprofValue struct {
	name, unit string
	measure    Measure
}

// pprofValues are what is counted of each stack.
func pprofValues(m Measure) []pprofValue {
	values := []pprofValue{
		{"alloc_objects", "count", Allocs}, {"alloc_space", "bytes", Bytes},
		{"inuse_objects", "count", LiveBlocks}, {"inuse_space", "bytes", Live},
	}
	switch m {
	case Peak:
		values = append(values, pprofValue{"peak_space", "bytes", Peak})
	case Temporary:
		values = append(values, pprofValue{"temporary_objects", "count", Temporary})
	}
	return values
}

// pprofile collects the tables of a profile.proto, whose rows samples share.
type pprofile struct {
	p         *Profile
	out       *profile.Profile
	mappings  map[pprofSpan]*profile.Mapping
	functions map[profile.Function]*profile.Function
	locations map[string]*profile.Location // by the frames
	same      []uint32                     // for each frame the first that is the same to pprof
	key       []byte                       // of the location that is looked for
}

// sameFrames are frames that differ only in what pprof does not know.
func sameFrames(frames []Frame) []uint32 {
	first := make(map[Frame]uint32, len(frames))
	same := make([]uint32, len(frames))
	for i, f := range frames {
		f.Library, f.Known, f.Guess = false, false, false
		k, ok := first[f]
		if !ok {
			k = uint32(i)
			first[f] = k
		}
		same[i] = k
	}
	return same
}

// pprofSpan names a mapping: a module, or a part of it.
type pprofSpan struct {
	module    int
	low, high uint64
}

// mapProgram makes the program's mapping the first: pprof takes that for the main
// binary.
func (b *pprofile) mapProgram() {
	for i := range b.p.Modules {
		m := &b.p.Modules[i]
		if m.Path != b.p.Program {
			continue
		}
		at := m.Low
		if len(m.Code) > 0 {
			at = m.Code[0].Low
		}
		b.mapping(i, at)
		return
	}
}

// mapping is the one that a code address is in: the segment of the module's file if that is known,
// because pprof finds instructions in the file by its offset; else all of the module, which is
// mapped from the beginning of its file.
func (b *pprofile) mapping(module int, address uint64) *profile.Mapping {
	m := &b.p.Modules[module]
	span, offset := pprofSpan{module, m.Low, m.High}, uint64(0)
	for _, c := range m.Code {
		if c.Low <= address && address < c.High {
			span, offset = pprofSpan{module, c.Low, c.High}, c.Offset
		}
	}
	row, ok := b.mappings[span]
	if !ok {
		row = &profile.Mapping{ID: uint64(len(b.out.Mapping) + 1), Start: span.low, Limit: span.high, Offset: offset, File: Plain(m.Path), BuildID: m.BuildID}
		b.mappings[span] = row
		b.out.Mapping = append(b.out.Mapping, row)
	}
	return row
}

func (b *pprofile) sample(s *Stack, values []pprofValue) {
	sample := &profile.Sample{}
	for _, v := range values {
		sample.Value = append(sample.Value, signed(v.measure.Of(s.Numbers)))
	}
	shown := *s
	if b.p.Golang {
		shown.Frames = goFrames(b.p, s.Frames)
	}
	for chain := range b.p.chains(&shown) {
		sample.Location = append(sample.Location, b.location(chain))
	}
	if len(s.Frames) == 0 {
		sample.Location = append(sample.Location, b.pseudo(s.Placeholder()))
	}
	numbers := map[string][]int64{}
	labels := map[string][]string{}
	if s.Mapped {
		labels["layer"] = []string{"mappings"}
	}
	if s.Thread != "" {
		labels["thread"] = []string{Plain(s.Thread)}
	}
	if s.TID != 0 {
		numbers["tid"] = []int64{int64(s.TID)}
	}
	if s.Slot != 0 {
		numbers["bytes"] = []int64{signed(s.Slot)} // as in Go's own; readers know the unit by the name
	}
	if len(numbers) > 0 {
		sample.NumLabel = numbers
	}
	if s.Truncated != "" {
		labels["truncated"] = []string{Plain(s.Truncated)}
	}
	if len(labels) > 0 {
		sample.Label = labels
	}
	b.out.Sample = append(b.out.Sample, sample)
}

// location is the row of a code address, with a line for each function inlined
// there, innermost first.
func (b *pprofile) location(chain []int) *profile.Location {
	key := b.key[:0]
	for _, i := range chain {
		key = binary.LittleEndian.AppendUint32(key, b.same[i])
	}
	b.key = key
	if l, ok := b.locations[string(key)]; ok {
		return l
	}
	code := &b.p.Frames[chain[len(chain)-1]]
	l := b.add(string(key), code.Address)
	if code.Module >= 0 {
		l.Mapping = b.mapping(code.Module, code.Address)
	}
	for _, i := range chain {
		f := &b.p.Frames[i]
		if f.Unnamed {
			continue // the address says as much
		}
		l.Line = append(l.Line, profile.Line{Function: b.function(f.Function, f.Linkage, f.File), Line: int64(f.Line)})
		if m := l.Mapping; m != nil {
			m.HasFunctions = true
			m.HasFilenames = m.HasFilenames || f.File != ""
			m.HasLineNumbers = m.HasLineNumbers || f.Line != 0
			m.HasInlineFrames = m.HasInlineFrames || f.Inlined
		}
	}
	return l
}

// pseudo is a row that has a name and no code.
func (b *pprofile) pseudo(name string) *profile.Location {
	key := name + "\x00" // of no other key's form: those are numbers of frames, 4 bytes each
	for len(key)%4 == 0 {
		key += "\x00"
	}
	if l, ok := b.locations[key]; ok {
		return l
	}
	l := b.add(key, 0)
	l.Line = []profile.Line{{Function: b.function(name, "", "")}}
	return l
}

func (b *pprofile) add(key string, address uint64) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.out.Location) + 1), Address: address}
	b.locations[key] = l
	b.out.Location = append(b.out.Location, l)
	return l
}

func (b *pprofile) function(name, linkage, file string) *profile.Function {
	f := profile.Function{Name: Plain(name), SystemName: Plain(cmp.Or(linkage, name)), Filename: Plain(file)}
	if known, ok := b.functions[f]; ok {
		return known
	}
	row := f
	row.ID = uint64(len(b.out.Function) + 1)
	b.functions[f] = &row
	b.out.Function = append(b.out.Function, &row)
	return &row
}

// remarks are sentences about a profile that formats have no fields for.
func (p *Profile) remarks() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, Plain(fmt.Sprintf(format, args...))) }
	if p.Title != "" {
		add("%s, pid %d", p.Title, p.PID)
	}
	if p.Created != "" {
		add("recorded by hdb %s: each allocation, no samples", strings.TrimPrefix(p.Created, "hdb "))
	}
	add("up to event #%d of %s; peak of %d bytes at #%d", p.Moment.Seq, p.Moment.Time, p.PeakBytes(), p.Peak.Seq)
	if p.Failed > 0 {
		add("%d allocations failed and are not counted", p.Failed)
	}
	for _, text := range p.Caveats.Lines() {
		add("%s", text)
	}
	return out
}
