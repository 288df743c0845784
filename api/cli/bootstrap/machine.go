package bootstrap

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
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
	return m.shell(ctx, line.String()+"\n"+string(text), stdin)
}

// pinion runs lines of a shell script in which the pinion of the machine is found.
func (m *machine) pinion(ctx context.Context, lines string) ([]byte, error) {
	return m.shell(ctx, "PATH=/usr/local/bin:/usr/bin:$PATH\n"+lines, nil)
}

// asRoot runs a script as root, by sudo where the login is another user's. sudo asks for no password: nobody would see it.
const asRoot = `if [ "$(id -u)" = 0 ]; then exec sh -c "$0"; fi; exec sudo -n sh -c "$0"`

// over is a shell over the ssh program, which has the user's keys and settings.
func over(target string) shell {
	return func(ctx context.Context, script string, stdin io.Reader) ([]byte, error) {
		return output(exec.CommandContext(ctx, "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", target, "sh -c "+quote(asRoot)+" "+quote(script)), stdin)
	}
}

// here is a shell on this machine.
func here(ctx context.Context, script string, stdin io.Reader) ([]byte, error) {
	return output(exec.CommandContext(ctx, "sh", "-c", asRoot, script), stdin)
}

// maxOutput bounds what is kept of what a machine says.
const maxOutput = 1 << 20

// output is what a command prints. The error has the end of what it has to say.
func output(command *exec.Cmd, stdin io.Reader) ([]byte, error) {
	var out, said bounded
	command.Stdin, command.Stdout, command.Stderr = stdin, &out, &said
	if err := command.Run(); err != nil {
		text := strings.TrimSpace(string(said.kept))
		return nil, fmt.Errorf("%w: %s", err, text[max(0, len(text)-maxShown):])
	}
	return out.kept, nil
}

// maxShown bounds what an error repeats of a machine's words, in bytes.
const maxShown = 2000

// bounded keeps the first bytes that are written to it, maxOutput of them.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxOutput-len(b.kept))]...)
	return len(p), nil
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
