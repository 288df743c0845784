package bootstrap

import (
	"context"
	"fmt"
	"strings"
)

// facts are what a machine says of itself.
type facts struct {
	system, processor string // as uname has them
	systemd           bool   // it has systemd
	data              bool   // it has a data directory
	program           string // path of a pinion; empty: there is none
	digest            string // SHA-256 of it
	pool              string // id of the pool whose host runs there; empty: none does
}

// survey asks a machine.
func survey(ctx context.Context, m *machine) (f facts, err error) {
	out, err := m.script(ctx, "survey.sh", nil)
	if err != nil {
		return f, fmt.Errorf("it cannot be reached as root (`ssh %s` needs a key, and root or sudo without a password): %w", m.name, err)
	}
	return parseFacts(string(out)), nil
}

func parseFacts(text string) (f facts) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "system":
			f.system = value
		case "processor":
			f.processor = value
		case "systemd":
			f.systemd = value == "yes"
		case "data":
			f.data = value == "yes"
		case "program":
			f.program = value
		case "digest":
			f.digest = value
		case "pool":
			f.pool = value
		}
	}
	return f
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

// plan says what becomes of each machine. founder is the one by which the others join: the first host that runs already, else the first machine.
func plan(all []facts, digest, processor string) (steps []step, founder int) {
	steps, founder = make([]step, len(all)), -1
	for i := range all {
		if all[i].pool != "" && founder < 0 {
			founder = i
		}
	}
	extends := founder >= 0
	founder = max(founder, 0)
	for i, f := range all {
		s := &steps[i]
		switch {
		case f.system != "Linux":
			s.refused = "it runs " + f.system + ", and hosts are Linux machines"
		case processors[f.processor] != processor && f.program == "":
			s.refused = fmt.Sprintf("its processor is %s, and this pinion is for %s: give --binary one for it", f.processor, processor)
		case f.pool != "" && f.pool != all[founder].pool:
			s.refused = "it is a host of another pool: `pinion leave` there takes it out of that"
		case f.pool != "":
			s.already = true
		case f.data:
			s.refused = "it has the data of a host that does not run: start it (`systemctl start pinion`), or remove it with all that it has (`pinion down --purge`)"
		default:
			s.founds, s.joins = !extends && i == founder, extends || i != founder
			s.copies = f.program == "" || f.program == installed && f.digest != digest
		}
	}
	return steps, founder
}
