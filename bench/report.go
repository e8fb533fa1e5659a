package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is where and with what was measured.
type machine struct {
	Date    string   `json:"date"`
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"`
	Kernel  string   `json:"kernel"`
	Load    string   `json:"load"` // of the last minute, before the first run
	HDB     string   `json:"hdb"`
	Peers   []string `json:"peers"`
	Rounds  int      `json:"rounds"`
	Full    bool     `json:"full"`
	Set     []string `json:"set,omitempty"`
	Planes  []string `json:"planes"`
	Command string   `json:"record_command"`
}

func describe(b *bench) machine {
	m := machine{
		Date: time.Now().UTC().Format(time.RFC3339), Cores: runtime.NumCPU(),
		Kernel: firstLine("uname", "-r"), HDB: firstLine(b.hdb.path, "--version"),
		Peers:  []string{firstLine("heaptrack", "--version"), firstLine("gdb", "--version")},
		Rounds: b.rounds, Full: b.full, Set: b.hdb.ex,
		Planes:  []string{b.hdb.condition.String(), b.hdb.recording.String()},
		Command: strings.Join(b.hdb.record(work{argv: []string{"PROG"}}, "FILE").argv[1:], " "),
	}
	m.Load = load()
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "model name\t: ")
		m.CPU, _, _ = strings.Cut(rest, "\n")
	}
	return m
}

// load is the machine's in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// firstLine is the first line that a command prints, or what went wrong.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return fmt.Sprintf("%s: %v", name, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func (m machine) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, %s\n", m.HDB, strings.Join(m.Peers, ", "), m.Date)
	fmt.Fprintf(w, "%d x %s, Linux %s, load %s before; %d rounds, medians ± half of the range\n", m.Cores, m.CPU, m.Kernel, m.Load, m.Rounds)
	for _, p := range m.Planes {
		fmt.Fprintln(w, p)
	}
	fmt.Fprintf(w, "recorded by hdb %s\n", m.Command)
}

// jsonRow is a row as -json writes it: medians beside every sample.
type jsonRow struct {
	Group   string       `json:"group"`
	What    string       `json:"what"`
	Native  *jsonSamples `json:"native,omitempty"`
	Peer    *jsonSamples `json:"peer,omitempty"`
	HDB     *jsonSamples `json:"hdb,omitempty"`
	Figure  *jsonSamples `json:"figure,omitempty"`
	Goal    string       `json:"goal,omitempty"`
	Verdict string       `json:"verdict,omitempty"`
	Note    string       `json:"note,omitempty"`
}

type jsonSamples struct {
	Who    string    `json:"who,omitempty"`
	Unit   string    `json:"unit,omitempty"`
	Median float64   `json:"median"`
	All    []float64 `json:"all"`
}

func (q quantity) json() *jsonSamples {
	if len(q.Series) == 0 {
		return nil
	}
	return &jsonSamples{q.Who, q.Unit, q.Series.median(), q.Series}
}

// save writes the table as one JSON object.
func (m machine) save(path string, rows []row) error {
	all := make([]jsonRow, len(rows))
	for i, r := range rows {
		all[i] = jsonRow{r.Group, r.What, r.Native.json(), r.Peer.json(), r.HDB.json(), r.Figure.json(),
			r.Goal.text(r.Figure.Unit), r.verdict(), r.Note}
	}
	text, err := json.MarshalIndent(struct {
		V int `json:"v"`
		machine
		Rows []jsonRow `json:"rows"`
	}{1, m, all}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
