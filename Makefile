# Everything is built from source with Go alone; what else a target needs it installs from Debian's packages and says so.

# Twelve digits: without a number it is as many as this clone needs, and another needs more.
version := $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo dev)

# The same for every step, so that each finds in Go's cache what the others compiled. They are Go's own flags, and keep
# the C compiler from listing every function of NVIDIA's header that is on its way out.
export CGO_CFLAGS := -O2 -g -Wno-deprecated-declarations

# Go's default, given by name: flags of the environment or of `go env -w` would change what is built.
export GOFLAGS := -mod=readonly

# What the tests use: a C compiler for the race detector and the tools, iptables and busybox for real containers, Amazon's
# own clients, and the shells that complete command lines.
packages := gcc libc6-dev pkg-config libseccomp-dev ip:iproute2 iptables busybox-static /usr/bin/aws:awscli mkfs.ext4:e2fsprogs zsh fish mandoc minisign /usr/sbin/sshd:openssh-server ssh:openssh-client /usr/bin/chromium:chromium s3fs:s3fs

# Packages that compute and touch no container: the race detector takes them seconds.
pure := ./raftfsm/... ./server/schedule/... ./api/ecs/taskdef ./api/ecs/view ./gpu ./gpu/sim ./gpu/nvml ./api/auth/sigv4/... ./node/logs/...

.PHONY: release installcheck armcheck build install client bundle page docs test conformance soak check bench fuzz demo cluster sbom vulncheck reproducible clean packages help

# Minisign public keys with blanks between, whose signatures of releases count on every host that runs the binary.
release_keys :=

# The processor to build for. For another one than this machine's the tools inside come in by an overlay, see packaging/bundle/tool.
machine := $(shell go env GOHOSTARCH)
arch := $(machine)
other := $(filter-out $(machine),$(arch))
binary := bin/pinion$(if $(other),-linux-$(arch))

build: bundle page ## bin/pinion, one static file with everything inside; with arch=arm64 or amd64 bin/pinion-linux-ARCH for another processor
	GOOS=linux GOARCH=$(arch) CGO_ENABLED=0 go build $(if $(other),-overlay .build/$(arch)/overlay.json) -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(version) -X 'main.releaseKeys=$(release_keys)'" -o $(binary) .

prefix := /usr/local

install: build ## pinion, its manual page, and the completion of bash, zsh and fish, into /usr/local (prefix=/usr, DESTDIR=DIR for a package)
	install -D bin/pinion $(DESTDIR)$(prefix)/bin/pinion
	bin/pinion reference man | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/man/man1/pinion.1
	bin/pinion completion bash | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/bash-completion/completions/pinion
	bin/pinion completion zsh | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/zsh/site-functions/_pinion
	bin/pinion completion fish | install -D -m 644 /dev/stdin $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/pinion.fish

clients := darwin/amd64 windows/arm64 darwin/arm64 windows/amd64

client: ## bin/pinion-OS-ARCH, the command line alone, for macOS and Windows
	@for to in $(clients); do \
		GOOS=$${to%/*} GOARCH=$${to#*/} CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(version)" \
			-o bin/pinion-$${to%/*}-$${to#*/}$$([ $${to%/*} = windows ] && echo .exe) . || exit 1; done

page: # the web page that goes inside; does nothing when it is up to date
	@cd api/web/build && go run -buildvcs=false .

bundle: # the container runtime and helpers that go inside; does nothing when they are up to date
	@go run -buildvcs=false ./packaging/bundle/build -arch $(arch)

docs: ## bin/docs, the documentation as a site; a dead link fails
	@cd packaging/docs && go run -buildvcs=false .

# A test that fails beside the others runs once more, alone, after them: one that is right only on an idle machine is shown
# with both results, and one that fails twice, or among more than three, has failed. The tests of a package use half of a CPU in
# the mean and wait otherwise, for elections and containers: so one package more than there are CPUs runs at a time.
test: build packages ## every test, the end-to-end ones included; needs root
	go tool gotestsum --format standard-quiet --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-run-root-test --packages ./... -- -timeout 40m -p $$(($$(nproc) + 1))

conformance: build packages ## the AWS CLI, boto3, the AWS SDK for Go and Terraform against a real host; needs root
	go test -count=1 -timeout 30m -v ./packaging/conformance

soak: build packages ## hours of faults on five hosts: leaders killed 200 times, links cut, disks hung and full; needs root
	go test -count=1 -v -timeout 0 -parallel 1 -run 'TestFaults|TestDisks|TestRetries' ./packaging/e2e/many -targets \
		-kills 200 -clients 100 -rounds 20 -away 5m -losses 20 -quorums 50 -hangs 20 -fills 20 -flickers 20 -history 100000 -rotations 20 -retries 10000
	go test -count=1 -v -timeout 0 -parallel 1 -run '^(TestALeaderThatLivesLeadsOn|TestACrashAtAnyPointLosesNothing|TestACrashWhileServersChangeLosesNothing|TestServersChangeAndNothingIsLost)$$' \
		./packaging/e2e/many -leaderships 20 -pace 20ms -crashes 500 -change-crashes 50 -voter-changes 200
	go test -count=1 -v -timeout 0 -run '^TestKillsLoseNoEndedTask$$' ./packaging/e2e/many -targets -ended-kills 300
	go test -count=1 -v -timeout 0 -run '^TestAPoolIsUpgradedUnderItsTasks$$' ./packaging/e2e/many -upgrades 10
	go test -count=1 -v -timeout 0 -run '^TestImagesComeFromTheRegistryOnce$$' ./packaging/e2e/many -targets \
		-image-hosts 16 -image-layers 8 -image-layer $$((64 << 20)) -image-link $$((12 << 20))
	go test -count=1 -v -timeout 0 -run '^(TestContainerdAndShimsAreKilled|TestARebootedHostGetsItsGPUsLate)$$' ./packaging/e2e -containerd-kills 100 -shim-kills 50 -gpus-late 60s
	go test -count=1 -v -timeout 0 -run '^TestTheWebPageOfALargePool$$' ./packaging/e2e -page-targets -page-time 10m
	go test -count=1 -timeout 0 -run '^TestNoGPUIsGivenTwice$$' ./server/orchestrator -gpu-histories 500
	go test -count=1 -v -timeout 0 -run '^TestATornCommitIsAWholeOneOrNone$$' ./server/store -torn 5000
	go test -count=1 -v -timeout 0 -run '^TestWhatIsReadableOfADamagedFileIsTakenOver$$' ./server/history -damages 2000
	go test -count=1 -v -timeout 0 -run '^(TestADamagedSnapshotIsRefused|TestADamagedEntryNeverPanics)$$' ./raftfsm -flips 50000
	go test -count=1 -v -timeout 0 -run '^TestSlowClientsCostWhatTheirConnectionsCost$$' ./api -slow-clients 3000
	go test -count=1 -v -timeout 0 -run '^(TestAHostileRegistryCostsNothingButItsOwnPull|TestAHostileImageReachesNothingOfTheHost|TestALogStormStallsNoTask|TestAStartThatIsBrokenOffAnywhereIsMadeAgain)$$' ./node/containerd \
		-broken-off 2000 -hostile-pulls 500 -hostile-images 100 -storm 5s -storm-targets

check: packages ## format, vet, staticcheck, modules, races, and the guard tests (imports, sizes, names, documentation)
	@unformatted=$$(gofmt -l $$(go list -f '{{.Dir}}' ./...)); if [ -n "$$unformatted" ]; then echo "run gofmt -w on: $$unformatted"; exit 1; fi
	go vet ./...
	CGO_ENABLED=0 go vet $$(for cgo in 0 1; do CGO_ENABLED=$$cgo go list -f '{{.ImportPath}} {{.GoFiles}} {{.CgoFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}' ./...; done | sort | uniq -u | cut -d ' ' -f 1 | sort -u) # other files without cgo
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null .
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o /dev/null .
	go tool staticcheck ./...
	go mod verify
	go test ./packaging/guard
	go -C packaging/docs test ./...
	go -C packaging/docs run -buildvcs=false .
	go test -race $(pure)

# In the Go benchmark format, for benchstat: make bench flags='-save FILE', later flags='-compare FILE'; flags=-table is for people.
flags :=

bench: build ## what Pinion promises, measured, each metric beside its reference; needs root
	@packaging/apt.sh git:git ip:iproute2 iptables:iptables mkfs.ext4:e2fsprogs nginx:nginx haproxy:haproxy
	go run -buildvcs=false ./packaging/bench $(flags)

# As many inputs for each target. What an input is cut down to when it fails is looked for 20 times, not for a minute.
inputs := 1000000
fuzz := go test -run '^$$' -fuzztime $(inputs)x -fuzzminimizetime 20x -timeout 0

fuzz: ## every fuzz target with a million inputs, and the properties of requests and task definitions; takes an hour
	$(fuzz) -fuzz '^FuzzAWSJSON$$' ./api
	$(fuzz) -fuzz '^FuzzCloudWatchLogs$$' ./api
	$(fuzz) -fuzz '^FuzzDecode$$' ./api/wire
	$(fuzz) -fuzz '^FuzzMessage$$' ./api/exec/datachannel
	$(fuzz) -fuzz '^FuzzDataChannel$$' ./api/exec
	$(fuzz) -fuzz '^FuzzFilterPattern$$' ./api/cloudwatchlogs
	$(fuzz) -fuzz '^FuzzRequest$$' ./api/auth/sigv4
	$(fuzz) -fuzz '^FuzzAuthorization$$' ./api/auth/sigv4
	$(fuzz) -fuzz '^FuzzParse$$' ./raftfsm/query
	$(fuzz) -fuzz '^FuzzCheck$$' ./raftfsm/re2
	$(fuzz) -fuzz '^FuzzVariables$$' ./raftfsm/envfile
	$(fuzz) -fuzz '^FuzzRootDirectory$$' ./raftfsm/filesystem
	$(fuzz) -fuzz '^FuzzRead$$' ./raftfsm/compact
	$(fuzz) -fuzz '^FuzzCheck$$' ./packaging/jsonshape
	go test -timeout 0 -run '^TestNoChangedRequestIsAccepted$$' ./api/auth/sigv4 -rapid.checks 200000
	go test -timeout 0 -run '^TestTaskDefinitions$$' ./api/ecs -rapid.checks 100000

demo: build ## a host, a task on two GPUs, its log; cleans up after itself, or stays until Ctrl-C with STAY=1; needs root
	@packaging/apt.sh iptables:iptables
	@bin/pinion demo$(if $(STAY), --stay)

cluster: build ## five hosts on this machine, each in a network of its own, to try and to break; needs root
	@packaging/apt.sh ip:iproute2 iptables:iptables
	go run -buildvcs=false ./packaging/cluster up -n 5
	@echo 'next: go run ./packaging/cluster exec host2 -- pinion hosts; go run ./packaging/cluster --help; go run ./packaging/cluster down'

sbom: build ## bin/pinion.cdx.json, the bill of materials of bin/pinion and every program inside it (CycloneDX), and bin/pinion.licences.txt with the texts of their licences; arch as for build
	@go run -buildvcs=false ./packaging/bundle/sbom -arch $(arch) -version $(version)

vulncheck: ## known vulnerabilities that pinion or a program inside it calls; GOVULNDB names the database (https://..., file:///DIR)
	@go run -buildvcs=false ./packaging/bundle/vulncheck

reproducible: packages ## two builds of the last commit, the second with an empty cache, compared byte by byte; takes minutes
	@packaging/reproducible.sh

# What a release is for.
arches := amd64 arm64

release: build ## dist/: for each of arches="amd64 arm64" tarball, deb and rpm, bill of materials; one container image; digests, signed by RELEASE_KEY=FILE; the same commit gives the same bytes
	@for arch in $(arches); do $(MAKE) --no-print-directory sbom arch=$$arch || exit 1; done
	@VERSION=$(version) ARCHES="$(arches)" SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) packaging/release/release.sh

installcheck: arches := $(machine)
installcheck: release ## the packages of dist/ installed, upgraded under a task, removed and purged in a copy of this machine; needs root
	@VERSION=$(version) ARCHES="$(arches)" SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) packaging/release/installcheck.sh

armcheck: build ## pinion for arm64, cross-built, and started here under qemu; needs root
	@$(MAKE) --no-print-directory build arch=arm64
	@packaging/release/armcheck.sh

packages:
	@packaging/apt.sh $(packages)
	@python3 -c 'import boto3' 2>/dev/null || packaging/apt.sh python3-boto3

clean: ## remove what was built
	rm -rf bin .build dist packaging/bundle/tools.tar.zst packaging/bundle/tools.sum

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 10
