package shell

// The groups of commands.
const (
	GroupRunning Group = "running"
	GroupStops   Group = "stops"
	GroupStack   Group = "stack"
	GroupData    Group = "data"
	GroupAllocs  Group = "allocations"
	GroupFiles   Group = "files"
	GroupStatus  Group = "status"
	GroupSupport Group = "support"
)

// A Chapter is a group with its title in the help.
type Chapter struct {
	Group Group
	Title string
}

// Chapters are those of the help, in its order.
func Chapters() []Chapter {
	return []Chapter{
		{GroupRunning, "Running the program and stepping"},
		{GroupStops, "Stops: where and when to stop"},
		{GroupAllocs, "Allocations: recorded events and the live heap"},
		{GroupStack, "Stack, frames and threads"},
		{GroupData, "Source, memory and registers"},
		{GroupFiles, "Programs and captures"},
		{GroupStatus, "Asking about the program and hdb itself"},
		{GroupSupport, "Scripts, settings and help"},
	}
}
