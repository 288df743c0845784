package bootstrap

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

//go:embed scripts/*.sh
var scripts embed.FS

// local is the machine that the command runs on: it needs no SSH.
const local = "localhost"

// machine is a machine to become a host.
type machine struct {
	name string // as `ssh` takes it: a name, an address, user@name, or a Host of ~/.ssh/config
	shell
}

// scriptTimeout bounds a script on a machine that hangs: the longest sends the program over a slow line, or waits for a host that joins.
const scriptTimeout = 15 * time.Minute

// shell runs a shell script as root on a machine.
type shell func(ctx context.Context, script string, stdin io.Reader) (out []byte, err error)

// script runs one of the scripts with these arguments.
func (m *machine) script(ctx context.Context, name string, stdin io.Reader, args ...string) ([]byte, error) {
	text, err := scripts.ReadFile("scripts/" + name)
	if err != nil {
		return nil, err
	}
	var line strings.Builder
	line.WriteString("set --")
	for _, arg := range args {
		line.WriteString(" " + quote(arg))
	}
	return m.run(ctx, line.String()+"\n"+string(text), stdin)
}

// run runs lines of a shell script, behind the prologue of all scripts.
func (m *machine) run(ctx context.Context, lines string, stdin io.Reader) ([]byte, error) {
	prologue, err := scripts.ReadFile("scripts/prologue.sh")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	return m.shell(ctx, string(prologue)+lines, stdin)
}

// asRoot runs a script as root, by sudo where the login is another user's. sudo asks for no password: nobody would see it.
const asRoot = `if [ "$(id -u)" = 0 ]; then exec sh -c "$0"; fi; exec sudo -n sh -c "$0"`

// overSSH is a shell over the ssh program, which has the user's keys and settings.
func overSSH(target string) shell {
	return func(ctx context.Context, script string, stdin io.Reader) ([]byte, error) {
		return output(exec.CommandContext(ctx, "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "--", target, "sh -c "+quote(asRoot)+" "+quote(script)), stdin)
	}
}

// runLocally is a shell on this machine.
func runLocally(ctx context.Context, script string, stdin io.Reader) ([]byte, error) {
	return output(exec.CommandContext(ctx, "sh", "-c", asRoot, script), stdin)
}

// output is what a command prints. The error has the end of what it has to say.
func output(command *exec.Cmd, stdin io.Reader) ([]byte, error) {
	out, said := head{}, tail{}
	command.Stdin, command.Stdout, command.Stderr = stdin, &out, &said
	command.WaitDelay = waitDelay
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return out, nil
}

const (
	// maxOutput bounds what is kept of what a machine prints, maxShown what an error repeats of it, in bytes.
	maxOutput, maxShown = 1 << 20, 2000
	// waitDelay is how long what a command has started may hold its output after its end.
	waitDelay = 5 * time.Second
)

// head keeps the first bytes that are written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), maxOutput-len(*h))]...)
	return len(p), nil
}

// tail keeps the last bytes that are written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-maxShown):]
	return len(p), nil
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
