package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/format"
)

// facts are what a machine says of itself.
type facts struct {
	system, processor string // as uname has them
	machine           string // /etc/machine-id
	elsewhere         string // the data directory that /etc/default/pinion names
	systemd, unit     bool   // it has systemd; that has a unit of pinion
	member            bool   // a host is there that belongs to a pool, whether it runs or not
	program           string // path of a pinion; empty: there is none
	digest            string // SHA-256 of it
	pool              string // id of the pool whose host runs there; empty: none does
	admits            bool   // that host may make join tokens: it is a server
}

// inspectMachine asks a machine.
func inspectMachine(ctx context.Context, m *machine) (f facts, err error) {
	out, err := m.script(ctx, "inspect.sh", nil)
	if err != nil {
		return f, fmt.Errorf("it cannot be reached as root (`ssh %s` needs a key, and root or sudo without a password): %w", m.name, err)
	}
	return parseFacts(string(out)), nil
}

func parseFacts(text string) facts {
	words := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		words[name] = format.Plain(value)
	}
	return facts{
		system: words["system"], processor: words["processor"], machine: words["machine"], elsewhere: words["elsewhere"], program: words["program"], digest: words["digest"], pool: words["pool"],
		systemd: words["systemd"] == "yes", unit: words["unit"] == "yes", member: words["member"] == "yes", admits: words["admits"] == "yes",
	}
}

// installed is where this command installs pinion. One of a package lies elsewhere, and is left as it is.
const installed = "/usr/local/bin/pinion"

// step is what becomes of a machine.
type step struct {
	founds  bool // it makes the pool, as no host of it runs yet
	joins   bool
	copies  bool   // the program is copied there
	already bool   // its host runs and stays as it is
	refused string // why nothing is done at all
}

// String says what is done.
func (s step) String() string {
	var words []string
	switch {
	case s.refused != "":
		return "REFUSED: " + s.refused
	case s.already:
		return "is a host of the pool already, and stays as it is"
	case s.founds:
		words = append(words, "starts a pool")
	default:
		words = append(words, "joins the pool")
	}
	if s.copies {
		words = append([]string{"gets this pinion"}, words...)
	}
	return strings.Join(words, ", ")
}

// processors are uname's words for Go's.
var processors = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// dataDir is where hosts keep everything, unless they are told otherwise.
const dataDir = "/var/lib/pinion"

// chooseSteps says what becomes of each machine. founder is the one by which the others join: the first server that runs already, else the first machine.
func chooseSteps(all []facts, digest, processor string) (steps []step, founder int) {
	steps = make([]step, len(all))
	first := func(is func(facts) bool) int { return slices.IndexFunc(all, is) }
	extends := true
	if founder = first(func(f facts) bool { return f.admits }); founder < 0 {
		founder = first(func(f facts) bool { return f.pool != "" }) // an agent, by which nobody joins
	}
	if founder < 0 {
		founder, extends = 0, false
	}
	for i, f := range all {
		s := &steps[i]
		s.copies = f.pool == "" && (f.program == "" || f.program == installed && f.digest != digest)
		switch same := first(func(other facts) bool { return f.machine != "" && other.machine == f.machine }); {
		case f.system != "Linux":
			s.refused = "it runs " + f.system + ", and hosts are Linux machines"
		case s.copies && processors[f.processor] != processor:
			s.refused = fmt.Sprintf("its processor is %s, and the pinion to copy is for %s: --binary names one for it", f.processor, processor)
		case same >= 0 && same < i:
			s.refused = "it is the same machine as one before (/etc/machine-id)"
		case f.elsewhere != "" && f.elsewhere != dataDir:
			s.refused = "its data directory is " + f.elsewhere + " (/etc/default/pinion), of which this command knows nothing: `pinion up --join` adds it"
		case f.pool != "" && f.pool != all[founder].pool:
			s.refused = "it is a host of another pool: `pinion leave` there takes it out of that"
		case f.pool != "":
			s.already = true
		case f.member:
			s.refused = "it has the data of a host that does not run: start it (`systemctl start pinion`), or remove it with all that it has (`pinion down --purge`)"
		case extends && !all[founder].admits:
			s.refused = "it cannot join by an agent: name a server of the pool too (`pinion hosts` shows which are)"
		default:
			s.founds, s.joins = !extends && i == founder, extends || i != founder
		}
	}
	return steps, founder
}
