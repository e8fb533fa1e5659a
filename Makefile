# Everything one does here: build, demo, test, test-full, bench, docs.
# Each installs the Debian packages that it needs when it may (scripts/need).

# These parse and draw what was saved elsewhere: they must build elsewhere.
PORTABLE = ./capture/... ./unwind/... ./symbols/... ./heap/... ./report/...
# The race detector runs where goroutines are started; in the small form on the tests
# that are about what they share, and on hdb itself, which a test builds with it.
RACE = $(shell scripts/concurrent)
RACE_SHORT = ./capture ./console ./heap ./internal/panics ./session ./symbols/debuginfod
RACE_TESTS = Many|Concurrent|Panic|Abort|Interrupt|Full|Killed|Threads|Race|Monitor|Stream|Log|Background
# A module of its own, so that what it compares with is not what hdb needs.
ORACLE = go -C probe/cfi/oracle
DEMO = .cache/demo

# Without libc, which hdb does not need: to load it and to start threads by it takes a
# fifteenth of a short recording. testprogs builds hdb for the tests in the same way.
build:
	CGO_ENABLED=0 go build -o hdb ./cmd/hdb

# Opens the console on the demo program; without a terminal it plays the
# README's session.
demo: build
	scripts/need demo
	mkdir -p .cache
	g++ -g -pthread $$(sed -n 's,^//build: ,,p' testprogs/testdata/demo.cc) -o $(DEMO) testprogs/testdata/demo.cc
	@scripts/demo ./hdb $(DEMO)

# Stress tests run in their small form here, in full in test-full. Many tests wait for
# processes: more packages at a time than there are processors keep those busy.
test: check
	go test -short -p 4 -timeout 15m -race -run '$(RACE_TESTS)' $(RACE_SHORT)
	go test -short -p 4 -timeout 15m ./...
	$(ORACLE) test ./...

test-full: check
	go test -timeout 60m ./...
	go test -timeout 60m -race $(RACE)
	$(ORACLE) test ./...

check:
	scripts/need test
	scripts/real
	scripts/npm
	@out=$$(gofmt -l .); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	go mod tidy -diff
	go -C tools mod tidy -diff
	$(ORACLE) mod tidy -diff
	go vet ./...
	GOOS=darwin go vet $(PORTABLE)
	$(ORACLE) vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...

# Ratios to gdb and heaptrack in one interleaved run; no test depends on them.
bench: build
	scripts/need bench
	go run ./bench

docs:
	go generate ./...

.PHONY: build demo test test-full check bench docs
