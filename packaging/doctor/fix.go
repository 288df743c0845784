package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	// fixTimeout bounds one command that mends something.
	fixTimeout = time.Minute
	// maxSaid is how much of its output an error has.
	maxSaid = 400
)

// Repair is what came of the command that mends a finding.
type Repair struct {
	Finding
	Error string `json:"error,omitempty"` // empty: it went well, or was not run
}

// Command is the command as a shell takes it.
func (r Repair) Command() string {
	words := make([]string, len(r.Fix))
	for i, word := range r.Fix {
		if words[i] = word; strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Fix runs the commands of findings in their order, each command once; run reports what is wrong with one. With run nil it only says what it would run.
func Fix(ctx context.Context, found []Finding, run func(ctx context.Context, command []string) error) (all []Repair) {
	known := map[string]bool{}
	for _, f := range found {
		repair := Repair{Finding: f}
		if len(f.Fix) == 0 || known[repair.Command()] {
			continue
		}
		known[repair.Command()] = true
		if run != nil {
			if err := run(ctx, f.Fix); err != nil {
				repair.Error = err.Error()
			}
		}
		all = append(all, repair)
	}
	return all
}

// RunCommand runs a command on this machine, for a minute at most. Its error has what the command says.
func RunCommand(ctx context.Context, command []string) error {
	ctx, cancel := context.WithTimeout(ctx, fixTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // a child of it may keep its output open
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out[:min(len(out), maxSaid)]))
	if err != nil && said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}
