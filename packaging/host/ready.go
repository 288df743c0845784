package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"pinion/api/cli"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/gpu"
	"pinion/node/machine"
	"pinion/packaging/doctor"
	"pinion/raftfsm/spec"
)

// ready is the report of a host that is ready.
type ready struct {
	host     spec.Host // as it describes itself
	hosts    int       // of its pool; 0: it holds no state, so it does not know
	gpus     gpu.Inventory
	free     int64 // bytes of the disk with the data directory
	dataDir  string
	findings []doctor.Finding // of the checks at the start
	examined bool             // these have ended
}

// findingsWait bounds the wait of a ready host for its GPUs and the checks of its machine: a driver that hangs holds them up.
const findingsWait = 2 * time.Second

// printReady prints that the host is ready, what it has found, what is missing, and the next commands.
func (h *host) printReady(ctx context.Context, out io.Writer, findings <-chan []doctor.Finding) error {
	select {
	case <-h.agent.Joined():
	case <-ctx.Done():
		return nil
	}
	fmt.Fprintf(out, "Pinion is ready at https://%s\n", h.address.Local) // programs wait for this line
	r := ready{host: h.agent.host, dataDir: h.dir.Path}
	soon, cancel := context.WithTimeout(ctx, findingsWait)
	defer cancel()
	var err error
	if r.gpus, err = h.gpus.source.Inventory(soon); err != nil {
		r.gpus.Problem = err.Error()
	}
	if disk, err := machine.MeasureDisk(h.dir.Path); err == nil {
		r.free = disk.Free
	}
	var has *spec.Settings // an agent does not hold the state
	if view, err := h.member.StaleView(); err == nil {
		settings := view.Settings()
		has, r.hosts = &settings, len(view.Hosts(""))
	}
	select {
	case r.findings = <-findings:
		r.examined = true
	case <-soon.Done():
	}
	fmt.Fprint(out, r)
	for _, ignored := range ignoredSettings(h.config, has) {
		fmt.Fprintf(out, "  note     %s\n", ignored)
	}
	return nil
}

// String is seven lines.
func (r ready) String() string {
	pool := "an agent of its pool"
	switch {
	case r.hosts == 1:
		pool = "the only host of its pool"
	case r.hosts > 1:
		pool = fmt.Sprintf("one of %d hosts of its pool", r.hosts)
	}
	pinion, gpus := "pinion"+dataDirFlag(r.dataDir), ""
	if len(r.gpus.Devices) > 0 {
		gpus = " --gpus 1"
	}
	var text strings.Builder
	for _, line := range [][2]string{
		{"host", r.host.Name + ", " + pool},
		{"machine", fmt.Sprintf("%d CPUs, %s memory, %s free on the disk of %s", r.host.CPU/1024, format.Bytes(r.host.MemoryMiB<<20), format.Bytes(r.free), r.dataDir)},
		{"GPUs", r.gpus.String()},
		{"missing", r.missing()},
		{"next", pinion + " run" + gpus + " pinion/self -- pinion gpus --container   # a container, with what it sees of GPUs"},
		{"", `eval "$(` + pinion + ` env)"; aws ecs list-container-instances   # the AWS CLI, boto3 and Terraform`},
		{"", r.third(pinion)},
	} {
		fmt.Fprintf(&text, "  %-8s %s\n", line[0], line[1])
	}
	return text.String()
}

// third is the third next command: a second host, where one can reach this one.
func (r ready) third(pinion string) string {
	if r.hosts == 0 { // root of an agent makes no join tokens
		return "sudo " + pinion + " doctor   # what this machine has and lacks"
	}
	address := r.host.Address
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip != nil && ip.IsLoopback() {
		return "sudo " + pinion + " doctor   # what this machine has; other machines cannot reach this host at " + address
	}
	if port == strconv.Itoa(cli.DefaultPort) {
		address = host
	}
	return "ssh root@" + host + " " + pinion + " token | pinion up --join " + address + " --token-file -   # on another machine: it joins"
}

// missing lists the findings of the checks that are not well.
func (r ready) missing() string {
	if !r.examined {
		return "not known yet, as a check takes long; `sudo pinion doctor` has all checks"
	}
	var wrong []string
	for _, f := range r.findings {
		if f.Level != doctor.OK {
			wrong = append(wrong, f.Check)
		}
	}
	if len(wrong) == 0 {
		return "nothing that a start looks for; `sudo pinion doctor` has all checks"
	}
	return strings.Join(wrong, ", ") + ": `sudo pinion doctor` says what to do"
}

// ignoredSettings are the options of this start that are for a new pool, and differ from what the pool has; with nil that is not known.
func ignoredSettings(c cli.UpConfig, pool *spec.Settings) (notes []string) {
	has := spec.Settings{}
	if pool != nil {
		has = *pool
	}
	for _, option := range []struct {
		name       string
		given, has any
		unset      bool
	}{
		{"servers", c.NewPool.Servers, has.Servers, c.NewPool.Servers == 0},
		{"replace-after", c.NewPool.ReplaceAfter, has.ReplaceAfter, c.NewPool.ReplaceAfter == 0},
		{"lost-after", c.NewPool.LostAfter, has.TaskLostAfter, c.NewPool.LostAfter == 0},
	} {
		switch {
		case option.unset:
		case pool == nil:
			notes = append(notes, fmt.Sprintf("--%s %v is for a new pool; this one has its own, which `pinion pool` shows on a server", option.name, option.given))
		case option.given != option.has:
			notes = append(notes, fmt.Sprintf("--%s %v is for a new pool; this one has %v: `pinion pool set %s=%v` changes it", option.name, option.given, option.has, option.name, option.given))
		}
	}
	return notes
}

// dataDirFlag returns the option that selects the host in dir, after a space; empty for the default directory.
func dataDirFlag(dir string) string {
	if dir == invocation.DefaultDataDir {
		return ""
	}
	return fmt.Sprintf(" --data-dir '%s'", strings.ReplaceAll(dir, "'", `'\''`))
}
