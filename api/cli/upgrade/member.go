package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/upgrade/rolling"
	"pinion/api/client"
	"pinion/api/upgrade"
)

// member is a host of the pool.
type member struct {
	rolling.Host
	before  []string // problems that it had before its upgrade began
	now     []string // problems that it has
	arch    string   // its processor, as GOARCH has it
	away    bool     // it was to get the program, and is not in contact with the pool
	status  upgrade.Status
	attempt string        // id, while it is UnderWay
	asked   bool          // the host has answered that it has begun
	heard   time.Time     // of it last
	phase   upgrade.State // of its attempt, as it was heard last
	since   time.Time     // when the phase was heard first
	unwell  time.Time     // when the host was last seen that has not the program, or is not well; zero: not since the command began
	ran     string        // digest of the program that it runs since it is Done
}

// problems are what is wrong with a host, for people, as far as a host keeps them.
func problems(h client.Host) (all []string) {
	defer func() {
		all = all[:min(len(all), upgrade.MaxProblems)]
		for i, text := range all {
			all[i] = strings.ToValidUTF8(text[:min(len(text), upgrade.MaxProblem)], "")
		}
	}()
	if h.GPUs.Problem != "" {
		all = append(all, "its GPUs: "+h.GPUs.Problem)
	}
	for _, d := range h.GPUs.Devices {
		if d.Health != client.Healthy && d.Health != client.Quarantined {
			all = append(all, fmt.Sprintf("GPU %s is %s", d.Number(), d.Health))
		}
	}
	for _, l := range h.ListenerProblems {
		all = append(all, fmt.Sprintf("its proxy does not serve port %d: %s", l.Port, l.Problem))
	}
	for _, v := range h.VirtualIPs {
		if v.Problem != "" {
			all = append(all, fmt.Sprintf("the virtual IP %s: %s", v.IP, v.Problem))
		}
	}
	return all
}

// learn takes what the pool says of the host.
func (m *member) learn(h client.Host) {
	m.Connected, m.now, m.arch = h.Connected, problems(h), h.Attributes["ecs.cpu-architecture"]
	if m.arch == "x86_64" { // as ECS has it
		m.arch = "amd64"
	}
	switch h.Role {
	case "leader":
		m.Role = rolling.Leader
	case "agent":
		m.Role = rolling.Agent
	default:
		m.Role = rolling.Server
	}
	m.findProblem()
}

// findProblem finds a problem of the host that it did not have before its upgrade.
func (m *member) findProblem() {
	m.Problem = ""
	for _, problem := range m.now {
		if !slices.Contains(m.before, problem) {
			m.Problem = format.Plain(problem)
		}
	}
}

// recall takes the earlier problems from the host's record, when an earlier command has begun its last upgrade: what is not among them may have come with the
// new program. Without a record that says so, as of an earlier version, every problem counts as one of those. What root has upgraded on the machine, or nobody, is
// none of this upgrade's doing.
func (m *member) recall() {
	last := m.status.Last
	if m.State != rolling.Pending && last != nil && last.ID != "" {
		m.before = last.Problems
	}
	m.findProblem()
}

// classify says how far the host is when the command begins.
func (m *member) classify(program *program, leaving string) {
	last := m.status.Last
	ours := last != nil && last.ID != "" && last.Rollback == (program == nil) && (program == nil || last.To.Digest == program.digest)
	switch {
	case ours && (last.State == upgrade.Staging || last.State == upgrade.Checking):
		m.State, m.attempt, m.asked = rolling.UnderWay, last.ID, true
	case program == nil && m.status.Before != nil && m.status.Running.Digest == leaving, program != nil && m.status.Running.Digest != program.digest:
		m.State = rolling.Pending
	case program != nil || last != nil && last.State == upgrade.Confirmed:
		m.State, m.ran = rolling.Done, m.status.Running.Digest
	}
}
