module hdb/probe/cfi/oracle

go 1.26.0

require (
	go.opentelemetry.io/ebpf-profiler v0.0.202633
	hdb v0.0.0
)

replace hdb => ../../..
