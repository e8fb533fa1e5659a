# Everything one does here: build, install, dist, demo, test, test-full, bench, docs.
# Each installs the Debian packages that it needs when it may (scripts/need).

# The race detector runs where goroutines are started. In the small form it does so only in
# packages for which little has to be compiled anew, and on the tests that are about what
# goroutines share.
RACE = $(shell scripts/concurrent)
RACE_SHORT = ./capture/file ./heap ./internal/panics
RACE_TESTS = Many|Concurrent|Panic|Abort|Full|Killed|Threads|Log|Background|Together|Deadline|History|Group
# A module of its own, so that what it compares with is not what hdb needs.
ORACLE = go -C probe/cfi/oracle
DEMO = .cache/demo

# Without libc, which hdb does not need: to load it and to start threads by it takes a
# fifteenth of a short recording. Its entry point is its own, which looks at the limit of the address
# space before Go's runtime does. testprogs builds hdb for the tests in the same way. Without its own symbols and DWARF it has
# 39 MB of 55; what a crash prints stays. `make debug` is for those who debug hdb itself.
build:
	CGO_ENABLED=0 go build -ldflags='-s -w -E main.enter $(NUMBER)' -o hdb ./cmd/hdb

debug:
	CGO_ENABLED=0 go build -ldflags='-E main.enter' -o hdb ./cmd/hdb

# Where install puts hdb: bin, share/man and the completions of three shells. DESTDIR is for packages.
PREFIX = /usr/local
ROOT = $(DESTDIR)$(PREFIX)
COMPLETIONS = bash-completion/completions/hdb zsh/site-functions/_hdb fish/vendor_completions.d/hdb.fish
HDB = ./hdb

install: NUMBER = -X main.release=$(VERSION)
install: build
	$(MAKE) place

# What install does with an hdb that is built already.
place:
	rm -rf .cache/man
	mkdir -p .cache/man
	$(HDB) --manual .cache/man
	install -D -m 755 $(HDB) $(ROOT)/bin/hdb
	install -d $(ROOT)/share/man/man1 $(ROOT)/share/man/man7
	install -m 644 .cache/man/*.1 $(ROOT)/share/man/man1
	install -m 644 .cache/man/*.7 $(ROOT)/share/man/man7
	for to in $(COMPLETIONS); do install -D -m 644 cmd/hdb/completions/$${to##*/}$$([ $${to##*/} != hdb ] || echo .bash) $(ROOT)/share/$$to; done

uninstall:
	rm -f $(ROOT)/bin/hdb $(ROOT)/share/man/man1/hdb.1 $(ROOT)/share/man/man1/hdb-*.1 $(ROOT)/share/man/man7/hdb-commands.7
	cd $(ROOT)/share && rm -f $(COMPLETIONS)

# An archive, a .deb, an .rpm, a wheel, the list of what hdb is built from, and checksums, in dist. The same commit gives the
# same files with the same version of Go.
VERSION = $(shell cat VERSION)
COMMIT = $(shell git rev-parse HEAD)
DATE = $(shell git log -1 --format=%cd --date=format:%Y-%m-%d)
STAMP = -s -w -buildid= -E main.enter -X main.release=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)
dist:
	@git diff --quiet HEAD || echo 'dist: files are changed that are not committed: the packages have them, and name the commit' >&2
	rm -rf dist .cache/stage
	mkdir -p dist .cache/stage
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='$(STAMP)' -o .cache/dist-hdb ./cmd/hdb
	$(MAKE) place HDB=.cache/dist-hdb DESTDIR= PREFIX=$(CURDIR)/.cache/stage
	go -C tools/dist run . -stage $(CURDIR)/.cache/stage -out $(CURDIR)/dist -version $(VERSION) \
		-date $$(git log -1 --format=%ct) -module $(CURDIR)/annotations/hdb_mark.py \
		-docs $(CURDIR)/README.md,$(CURDIR)/LICENSE,$(CURDIR)/CHANGELOG.md -ci $(CURDIR)/ci/assert.sh

# Installs what dist has made on bare systems, as root.
test-packages: dist
	scripts/packages

# Opens the console on the demo program; without a terminal it plays the
# session of docs/session.md.
demo: build
	scripts/need demo
	mkdir -p .cache
	g++ -g -pthread $$(sed -n 's,^//build: ,,p' testprogs/testdata/demo.cc) -o $(DEMO) testprogs/testdata/demo.cc
	@scripts/demo ./hdb $(DEMO)

# The compiler's own garbage collector takes a fifth of its time: it is rarely let run where
# Go's library is compiled anew. What is compiled has its own setting, none.
EAGER = GOGC=800
# Without the paths of a checkout, what was compiled for one is used for the next.
SHARED = -trimpath
# check has run all of vet. What tests compute themselves collects less garbage; what they start has
# no setting (testprogs).
TESTS = env GOGC=400
GOTEST = $(EAGER) go test $(SHARED) -vet=off -exec '$(TESTS)'
# A machine that has much else to do takes several times as long as one alone.
PATIENT = -timeout 40m

# Stress tests run in their small form here, in full in test-full. Many tests wait for
# processes: more packages at a time than there are processors keep those busy. What
# downloads or compiles one file runs beside what computes. All but the race detector do
# without C, so that Go's library is compiled once.
# The packages that take longest begin first, so that none of them is left over for the end.
LONG = ./testprogs ./testprogs/golang ./testprogs/planes ./session ./symbols ./inferior ./console ./goruntime ./values ./probe \
	./testprogs/real ./testprogs/oracle ./cmd/hdb ./unwind ./capture/file ./breakpoints ./report
test: export CGO_ENABLED = 0
test:
	$(MAKE) -j2 --output-sync=line packages check
	$(MAKE) -j2 --output-sync=line real npm race oracle
	$(GOTEST) -short -p 4 $(PATIENT) $(LONG) ./...
	@scripts/glibc missing

race:
	CGO_ENABLED=1 $(GOTEST) -short -p 4 $(PATIENT) -race -run '$(RACE_TESTS)' $(RACE_SHORT)

oracle:
	$(EAGER) $(ORACLE) test $(SHARED) -vet=off $(PATIENT) -exec '$(TESTS)' ./...

# As on machines that lack what hdb can do without: see hdb doctor.
masked:
	HDB_WITHOUT=fsgsbase,debugregs,pagemapscan CGO_ENABLED=0 $(GOTEST) -short -p 2 -timeout 40m \
		./inferior/... ./probe ./session ./values ./cmd/hdb ./testprogs/planes ./testprogs/golang

test-full: tools check lint masked
	go -C tools/dist mod tidy -diff
	go -C tools/dist vet ./...
	go test -timeout 60m ./...
	go test -timeout 60m -race $(RACE)
	$(ORACLE) test ./...

# What the tests need.
tools: packages real npm
	scripts/glibc

packages:
	scripts/need test

real: packages
	scripts/real

npm: packages
	scripts/npm

check:
	@out=$$(gofmt -l .); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	go mod tidy -diff
	go -C tools mod tidy -diff
	$(ORACLE) mod tidy -diff
	$(EAGER) go vet $(SHARED) ./...
	$(EAGER) $(ORACLE) vet $(SHARED) ./...

lint:
	go tool -modfile=tools/go.mod staticcheck ./...
	$(GOTEST) -run '^Test(Prose|Comments|Links)$$' .

# Ratios to gdb and heaptrack in one interleaved run; no test depends on them.
bench: build
	scripts/need bench
	go run ./bench

docs:
	go generate ./...

.PHONY: build debug install place uninstall dist test-packages demo test race oracle masked test-full tools packages real npm check lint bench docs
