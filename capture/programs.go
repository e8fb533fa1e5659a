package capture

import "slices"

// Programs are the files of the programs of a recording, each with the event that the program begins with in From: the first module with a path that the
// kernel mapped for each, as it maps that before the dynamic linker and the libraries. One whose file is not known is left out.
func Programs(src Source) (all []Module) {
	begins := []uint64{0, 1} // where the events of each program begin
	for _, seq := range src.Execs() {
		begins = append(begins, seq)
	}
	noted := map[uint64]bool{}
	for _, m := range src.Modules() {
		if m.Path != "" && !noted[max(m.From, 1)] && slices.Contains(begins, m.From) {
			noted[max(m.From, 1)] = true
			all = append(all, m)
		}
	}
	return all
}
