package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pinion/raftfsm/valuefrom"
)

const (
	// commandTimeout bounds a program that prints a secret.
	commandTimeout = 30 * time.Second
	// maxValue bounds its output, in bytes: as much as a secret of the pool may have.
	maxValue = 64 << 10
	// maxComplaint bounds the quotation of its standard error.
	maxComplaint = 300
)

// CheckCommands refuses programs that somebody else than root could exchange, and what is no program.
func CheckCommands(commands map[string]string) error {
	for name, path := range commands {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("--secret-command %s: %w", name, err)
		}
		owner, _ := info.Sys().(*syscall.Stat_t)
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || info.Mode().Perm()&0o022 != 0 || owner == nil || owner.Uid != 0 {
			return fmt.Errorf("--secret-command %s: %s is to be a program of root that nobody else can write: chown root %s && chmod 0755 %s", name, path, path, path)
		}
	}
	return nil
}

// run runs the program of a reference: it is given the reference as its argument, and the task and the cluster in its environment, and prints the value.
// One newline at the end is no part of it.
func (s Source) run(ctx context.Context, taskID, cluster string, ref valuefrom.Reference) (string, error) {
	path := s.Commands[ref.Name]
	if path == "" {
		return "", fmt.Errorf("this host has no program %q for secrets: `pinion up --secret-command %s=PATH` names one", ref.Name, ref.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, ref.Version)
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"PINION_TASK=" + taskID, "PINION_CLUSTER=" + cluster}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
	end := func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.Cancel = end
	command.WaitDelay = time.Second
	value, complaint := &bounded{left: maxValue + 1}, &bounded{left: maxComplaint}
	command.Stdout, command.Stderr = value, complaint
	if s.Printed != nil {
		s.Printed(taskID, cluster, valuefrom.CommandPrefix+ref.Name+":"+ref.Version)
	}
	err := command.Run()
	if command.Process != nil {
		_ = end() // it may have left nothing behind
	}
	if where, is := errors.AsType[*fs.PathError](err); is {
		err = where.Err // the reason of a task tells no place on its host
	}
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the program %q of this host did not print %q within %v", ref.Name, ref.Version, commandTimeout)
	case errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("the program %q of this host, asked for %q, has left a process behind that holds its output", ref.Name, ref.Version)
	case err != nil:
		return "", fmt.Errorf("the program %q of this host, asked for %q: %w %s", ref.Name, ref.Version, err, strings.TrimSpace(complaint.kept.String()))
	case value.left == 0:
		return "", fmt.Errorf("the program %q of this host prints more than %d bytes for %q", ref.Name, maxValue, ref.Version)
	}
	return strings.TrimSuffix(value.kept.String(), "\n"), nil
}

// bounded keeps the beginning of an output.
type bounded struct {
	kept bytes.Buffer
	left int
}

// Write implements io.Writer; it takes everything.
func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.left)]
	b.left -= len(kept)
	b.kept.Write(kept)
	return len(p), nil
}
