package console

import (
	"io"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/inferior/machine"
	"hdb/names"
)

// A Doctor is what hdb doctor has found.
type Doctor struct {
	Names   *names.Checkup // nil: no program was asked about
	Machine []machine.Finding
}

// PrintDoctor prints it: names as `info symbols` does, then the machine.
func PrintDoctor(w io.Writer, d Doctor, asJSON bool) error {
	c := shell.NewPrinter(shell.Options{Out: w, JSON: asJSON})
	v := doctorView{Machine: viewMachine(d.Machine)}
	var gaps []string
	if d.Names != nil {
		names := viewCheckup(d.Names)
		v.checkupView, gaps = &names, d.Names.Gaps
	}
	c.ShowCareful(shell.Input{Name: "doctor"}, v, gaps, func(o *screen.Output) {
		if d.Names != nil {
			printCheckup(o, d.Names)
		}
		if d.Names != nil && len(d.Machine) > 0 {
			o.Printf("\n")
		}
		printMachine(o, d.Machine)
	})
	return c.Out.Err()
}

type doctorView struct {
	*checkupView
	Machine []abilityView `json:"machine,omitempty"`
}

type abilityView struct {
	Ability string `json:"ability"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Needed  bool   `json:"needed"`
	FoundBy string `json:"found_by"`
	Without string `json:"without"`
}

func viewMachine(all []machine.Finding) (views []abilityView) {
	for _, f := range all {
		views = append(views, abilityView{f.Word, f.Name, string(f.State), f.Matters, f.How, f.Without})
	}
	return views
}

// printMachine prints what the machine can do, and what follows from what it cannot.
func printMachine(o *screen.Output, all []machine.Finding) {
	if len(all) == 0 {
		return
	}
	var rows [][]screen.Span
	for i := range all {
		f := &all[i]
		state := screen.Plain(string(f.State))
		if f.Missing() {
			state = screen.Warning(string(f.State))
		}
		rows = append(rows, []screen.Span{screen.Head(f.Name), state, screen.Plain(f.How)})
	}
	o.Table([]screen.Column{{Head: "this machine"}, {Head: ""}, {Head: "found by"}}, rows)
	for i := range all {
		if f := &all[i]; f.State != machine.Present {
			o.Line(screen.Head("without "+f.Name), screen.Plain(": "+f.Without))
		}
	}
}
