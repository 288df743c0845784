package exec

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// PortForwardCommand is `pinion port-forward`.
func PortForwardCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "port-forward",
		Usage:     "Reach a port of a running task from this machine",
		ArgsUsage: "TASK PORT|LOCAL:PORT...",
		Description: `Listens on 127.0.0.1 and carries each connection to the TCP port of the container, over any host of the pool: no port has to be published, and programs
that listen on 127.0.0.1 of their container are reached too. It goes on until Ctrl-C. Who may: as for 'pinion exec'.

Examples:
   pinion port-forward notebook 8888
   pinion port-forward train 16006:6006      # http://127.0.0.1:16006 is TensorBoard's port 6006`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "container", Usage: "the container `NAME`, where the task has several"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return exit.Usagef("name a task and a port: pinion port-forward TASK [LOCAL:]PORT")
			}
			var forwards []forward
			for _, word := range c.Args().Slice()[1:] {
				f, err := parseForward(word)
				if err != nil {
					return err
				}
				forwards = append(forwards, f)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			task, err := startedTask(c.Context, inv, c.String("cluster"), c.Args().First())
			if err != nil {
				return err
			}
			return listenAll(c.Context, inv, container{inv.Client, task, c.String("container")}, forwards)
		},
	}
}

// forward is a port of this machine and the one of a container that it leads to.
type forward struct{ local, port int }

// parseForward reads [LOCAL:]PORT.
func parseForward(word string) (f forward, err error) {
	local, remote, both := strings.Cut(word, ":")
	if !both {
		remote = local
	}
	number := func(text string, least int) int {
		n, failed := strconv.Atoi(text)
		if failed != nil || n < least || n > 65535 {
			err = exit.Usagef("%q is not [LOCAL:]PORT, such as 8888 or 16006:6006", word)
		}
		return n
	}
	return forward{number(local, 0), number(remote, 1)}, err
}

// listenAll listens for all forwards until ctx ends.
func listenAll(ctx context.Context, inv *invocation.Invocation, there container, forwards []forward) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(forwards))
	for _, f := range forwards {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.local)))
		if err != nil {
			return fmt.Errorf("%w. Another local port: pinion port-forward TASK LOCAL:%d", err, f.port)
		}
		defer context.AfterFunc(ctx, func() { listener.Close() })()
		inv.Notef("%s is port %d of task %s", listener.Addr(), f.port, format.ID(there.task))
		go func() { failed <- serve(ctx, inv, there, listener, f.port) }()
	}
	return <-failed
}

// serve carries the connections of a listener.
func serve(ctx context.Context, inv *invocation.Invocation, there container, listener net.Listener, port int) error {
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return exit.Silent(exit.Interrupted)
		}
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_, err := there.client.Exec(ctx, there.task, client.ExecRequest{Container: there.name, Port: port, Stdin: conn, Stdout: conn})
			if err != nil && ctx.Err() == nil {
				inv.Notef("%v", err)
			}
		}()
	}
}
