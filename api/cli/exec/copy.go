package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// CopyCommand is `pinion cp`.
func CopyCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "cp",
		Usage:     "Copy files between a running task and this machine",
		ArgsUsage: "TASK:PATH PATH | PATH TASK:PATH",
		Description: `Copies a file or a directory with all that is in it, by the program "tar" of the container and with the rights of the container's user. Into a
directory that is there it goes under its own name; otherwise the last part of the target is its new name. "-" is a tar archive at standard output or input.
Who may: as for 'pinion exec'.

Examples:
   pinion cp train:/work/model.pt .
   pinion cp data train:/work
   pinion cp train:/work/logs - | tar tv`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "container", Usage: "the container `NAME`, where the task has several"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return exit.Usagef("name what to copy and where to: pinion cp TASK:PATH PATH, or pinion cp PATH TASK:PATH")
			}
			from, fromTask := taskPath(c.Args().Get(0))
			to, toTask := taskPath(c.Args().Get(1))
			if (fromTask == "") == (toTask == "") {
				return exit.Usagef("one of the two is TASK:PATH, the other a path on this machine")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			task, err := startedTask(c.Context, inv, c.String("cluster"), fromTask+toTask)
			if err != nil {
				return err
			}
			there := container{inv.Client, task, c.String("container")}
			if fromTask != "" {
				return there.copyOut(c.Context, from, to)
			}
			return there.copyIn(c.Context, from, to)
		},
	}
}

// taskPath splits TASK:PATH; a path on this machine has no task.
func taskPath(word string) (name, task string) {
	task, name, is := strings.Cut(word, ":")
	if !is || strings.ContainsAny(task, `/\`) || task == "" || filepath.VolumeName(word) != "" {
		return word, ""
	}
	return name, task
}

// container is what files are copied to and from.
type container struct {
	client     *client.Client
	task, name string
}

// run runs a command in the container. Its standard error is the error when it fails.
func (c container) run(ctx context.Context, in io.Reader, out io.Writer, command ...string) error {
	var said headBuffer
	code, err := c.client.Exec(ctx, c.task, client.ExecRequest{Container: c.name, Command: command, Stdin: in, Stdout: out, Stderr: &said})
	switch {
	case errors.Is(err, client.ErrExecInterrupted):
		return fmt.Errorf("%w. What was copied so far is not whole: copy it again in a moment", err)
	case err != nil:
		return err
	case code == notFound:
		return fmt.Errorf("the container has no %s, by which files are copied", command[0])
	case code != 0:
		return fmt.Errorf("%s in the container ends with %d: %s", command[0], code, strings.TrimSpace(string(said.kept)))
	}
	return nil
}

// notFound is the exit code of a command that a container does not have.
const notFound = 127

// copyOut copies from the container.
func (c container) copyOut(ctx context.Context, from, to string) error {
	from = path.Clean("/" + from)
	if from == "/" {
		return exit.Usagef("name a file or a directory in the container, not all of it")
	}
	command := []string{"tar", "-cf", "-", "-C", path.Dir(from), path.Base(from)}
	if to == "-" {
		return c.run(ctx, nil, os.Stdout, command...)
	}
	dir, name := filepath.Dir(to), filepath.Base(to)
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		dir, name = to, path.Base(from)
	}
	archive, out := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(archive, dir, path.Base(from), name)
		archive.CloseWithError(err) // so that the command ends, too
		unpacked <- err
	}()
	err := c.run(ctx, nil, out, command...)
	out.CloseWithError(err)
	if failed := <-unpacked; failed != nil && (err == nil || errors.Is(err, failed)) {
		return failed
	}
	return err
}

// copyIn copies to the container.
func (c container) copyIn(ctx context.Context, from, to string) error {
	to = path.Clean("/" + to)
	if from == "-" {
		return c.run(ctx, os.Stdin, nil, "tar", "-xf", "-", "-C", to)
	}
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	absolute, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	dir, name := path.Dir(to), path.Base(to)
	if c.run(ctx, nil, nil, "test", "-d", to) == nil {
		dir, name = to, filepath.Base(absolute)
	}
	archive, in := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(in, absolute, name)
		in.CloseWithError(err)
		packed <- err
	}()
	err = c.run(ctx, archive, nil, "tar", "-xf", "-", "-C", dir)
	archive.Close()
	return errors.Join(err, ignoreClosed(<-packed))
}

// ignoreClosed is no error for one that only says that the other end was gone first, which has its own.
func ignoreClosed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// maxSaid is how much of what a command in a container writes to its standard error is shown.
const maxSaid = 8 << 10

// headBuffer keeps the first maxSaid bytes that are written to it, and takes all.
type headBuffer struct{ kept []byte }

// Write takes all, and keeps the first bytes.
func (h *headBuffer) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxSaid-len(h.kept))]...)
	return len(p), nil
}
