// Package doctor checks the machine of a host: what Pinion needs of it, what it uses, and what an operator should know, each with what to
// do about it. It works on a machine on which pinion has never run, and beside one that runs.
package doctor

import (
	"context"
	"time"
)

// Level is the severity of a finding.
type Level string

// The levels. Only Failed makes a machine unsound.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, and something is slower, less safe or not possible
	Failed  Level = "failed"  // pinion, or tasks that need this, will not work
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do about it; empty when all is well
	// Fix is a command that mends it, with its arguments. None is given where something might be lost by it, or a person has to choose.
	Fix []string `json:"fix,omitempty"`
}

func (f Finding) fixedBy(command ...string) Finding {
	f.Fix = command
	return f
}

func ok(found string) Finding          { return Finding{Level: OK, Found: found} }
func warning(found, do string) Finding { return Finding{Level: Warning, Found: found, Do: do} }
func failed(found, do string) Finding  { return Finding{Level: Failed, Found: found, Do: do} }

// Host is the host to check: the options that it has or will have, and the machine.
type Host struct {
	DataDir        string
	Containerd     string                 // socket of the machine's own containerd; empty: Pinion's
	RegistryConfig string                 // directory with mirrors; empty: none
	Listen         string                 // address of the TLS port
	Join           string                 // host:port of a host of the pool to join; empty: none
	MinFree        func(size int64) int64 // bytes that stay free on a disk of this size

	Machine Machine
}

// check is one row of the table: its findings have its name.
type check struct {
	name    string
	inspect func(ctx context.Context, h *Host) []Finding
	start   atStart
}

// atStart says whether a check is one of those that `pinion up` makes.
type atStart int

const (
	notAtStart atStart = iota
	everyStart
	driverGPUs // when the GPUs of the host are the driver's
)

// checks are looked at in this order: what everything else needs comes first.
var checks = []check{
	{"user", checkUser, notAtStart},
	{"kernel", checkKernel, notAtStart},
	{"cgroups", checkCgroups, notAtStart},
	{"overlayfs", checkOverlay, notAtStart},
	{"openat2", checkOpenat2, notAtStart},
	{"read-only mounts", checkReadOnlyMounts, notAtStart},
	{"seccomp", checkSeccomp, notAtStart},
	{"apparmor", checkAppArmor, notAtStart},
	{"user namespaces", checkUserNamespaces, notAtStart},
	{"ulimits", checkUlimits, notAtStart},
	{"iptables", checkIptables, notAtStart},
	{"gpu driver", checkDriver, driverGPUs},
	{"gpu devices", checkGPUDevices, driverGPUs},
	{"gpu links", checkGPULinks, driverGPUs},
	{"gpu fabric", checkFabric, driverGPUs},
	{"gpu persistence", checkPersistence, notAtStart},
	{"gpu sharing", checkSharing, notAtStart},
	{"disk room", checkDiskRoom, notAtStart},
	{"disk type", checkDiskType, everyStart},
	{"disk sync", checkDiskSync, notAtStart},
	{"data directory", checkDataDir, notAtStart},
	{"leftovers", checkLeftovers, notAtStart},
	{"port", checkPort, notAtStart},
	{PoolCheck, checkPool, notAtStart},
	{"other hosts", checkPeers, notAtStart},
	{"clock sync", checkClockSync, everyStart},
	{"clock offset", checkClocks, notAtStart},
	{"containerd", checkContainerd, notAtStart},
	{"registries", checkRegistries, notAtStart},
}

// PoolCheck is the name of the check of the pool's other hosts.
const PoolCheck = "pool"

// checkTimeout bounds one check.
const checkTimeout = 10 * time.Second

// Examine runs all checks.
func Examine(ctx context.Context, h *Host) []Finding {
	return h.examine(ctx, func(check) bool { return true })
}

// ExamineStart runs the checks that `pinion up` makes: they take no time, and nothing else says what they find. withDriver says that the GPUs of the
// host are the driver's.
func ExamineStart(ctx context.Context, h *Host, withDriver bool) []Finding {
	return h.examine(ctx, func(c check) bool { return c.start == everyStart || withDriver && c.start == driverGPUs })
}

func (h *Host) examine(ctx context.Context, wanted func(check) bool) (all []Finding) {
	for _, c := range checks {
		if !wanted(c) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		for _, f := range c.inspect(ctx, h) {
			f.Check = c.name
			all = append(all, f)
		}
		cancel()
	}
	return all
}

// Count counts the findings of a level.
func Count(all []Finding, level Level) (n int) {
	for _, f := range all {
		if f.Level == level {
			n++
		}
	}
	return n
}
