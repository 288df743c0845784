// Package hello is `pinion hello`: an HTTP server for the built-in image, to try services with where no registry is reached.
package hello

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/netutil"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
)

// Bounds of the server: it may stand behind a listener that anybody reaches.
const (
	maxConnections = 1024
	maxHeaderBytes = 16 << 10
	maxShownPath   = 1024
	requestTimeout = 10 * time.Second // to read a request, and to write its answer
	idleTimeout    = time.Minute
	stopTimeout    = 10 * time.Second // for the requests in flight, after SIGTERM
)

// Command is the command `pinion hello`.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "hello",
		Usage: "Serve HTTP and answer with the id of the serving task, to try out services",
		Description: `Answers every request with 200, its host name, its task and the path, and prints a line for each. It is a command of the built-in image
pinion/self, so that services, load balancers and health checks can be tried without a registry. After SIGTERM it finishes the
requests in flight.

Examples:
   pinion run --service web --count 2 -p 8080 pinion/self -- pinion hello
   pinion run -d -p 8080:80 pinion/self -- pinion hello --port 80`,
		Flags: []cli.Flag{&cli.IntFlag{Name: "port", Value: 8080, Usage: "listen on TCP port `N`; 0 is any that is free"}},
		Action: func(c *cli.Context) error {
			port := c.Int("port")
			if port < 0 || port > 65535 {
				return exit.Usagef("--port %d: must be from 0 to 65535", port)
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
			if err != nil {
				return fmt.Errorf("%w: --port N takes another one", err)
			}
			return serve(ctx, listener, c.App.Writer)
		},
	}
}

// serve answers requests until ctx ends, and then finishes those in flight.
func serve(ctx context.Context, listener net.Listener, out io.Writer) error {
	server := &http.Server{
		Handler: answer(out), MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: idleTimeout,
	}
	fmt.Fprintf(out, "listening on %s\n", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(listener, maxConnections)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.Background(), stopTimeout)
	defer done()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("requests are in flight after %s: their connections are closed", stopTimeout)
	}
	return errors.Join(err, server.Close())
}

// answer says who answers, and what was asked. It reads no body.
func answer(out io.Writer) http.Handler {
	host, _ := os.Hostname() // empty where the machine has none
	task := os.Getenv("PINION_TASK_ID")
	if task == "" {
		task = "none"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := format.Truncate(format.Plain(r.Method+" "+r.URL.RequestURI()), maxShownPath)
		fmt.Fprintf(out, "%s from %s\n", asked, r.RemoteAddr)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff") // the path is the caller's word
		fmt.Fprintf(w, "hello from %s\ntask: %s\nrequest: %s\n", host, task, asked)
	})
}
