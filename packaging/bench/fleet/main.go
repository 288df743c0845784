// Command fleet runs many hosts in one process, as a load for a pool. Each joins with a token, holds a TLS session with a
// certificate of its own, sends heartbeats and reports, and takes tasks, with the code of every host. GPUs and containers are
// simulated. It needs root.
//
//	fleet -n 1000 -dir DIR -ip IP -join ADDR -token T
//
// It prints "ready PID" when all hosts have joined. Each line "silence" on standard input makes the next host fall silent, as by
// a power cut, and prints "silent ID" at that moment. The end of standard input, or an interrupt, ends the fleet.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// joinConcurrency is the number of hosts that join at the same time: two keep a leader busy, more hide the round trips.
const joinConcurrency = 8

func main() {
	var in joinConfig
	n := flag.Int("n", 1000, "`HOSTS` in the fleet")
	flag.StringVar(&in.dir, "dir", "", "`DIR` in which each host keeps what is its own")
	flag.StringVar(&in.ip, "ip", "127.0.0.1", "`IP` address that the hosts listen on")
	flag.StringVar(&in.join, "join", "", "`ADDR` of a host of the pool")
	flag.StringVar(&in.joinToken, "token", "", "what `pinion token` printed, good for as many uses as there are hosts")
	flag.StringVar(&in.gpus, "gpus", "8xh100", "simulated `GPUS` of each host")
	flag.StringVar(&in.cluster, "cluster", "fleet", "`NAME` of the cluster that the hosts belong to, made when it is not there")
	flag.Parse()
	in.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if in.dir == "" || in.join == "" || in.joinToken == "" {
		fmt.Fprintln(os.Stderr, "fleet: -dir, -join and -token are needed")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, in, *n); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in joinConfig, n int) (err error) {
	hosts, err := joinAll(ctx, in, n)
	defer closeAll(hosts)
	if err != nil {
		return err
	}
	fmt.Println("ready", os.Getpid())
	commands := make(chan string)
	go func() {
		defer close(commands)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	for next := 0; ; {
		select {
		case command, open := <-commands:
			if !open {
				return nil
			}
			if command != "silence" || next == len(hosts) {
				return fmt.Errorf("order %q with %d of %d hosts silent; orders are \"silence\", one for each host at most", command, next, len(hosts))
			}
			hosts[next].stopAgent()
			fmt.Println("silent", hosts[next].id)
			next++
		case <-ctx.Done():
			return nil
		}
	}
}

// joinAll joins n hosts and returns those that have joined, which are all unless there is an error.
func joinAll(ctx context.Context, in joinConfig, n int) ([]*host, error) {
	var (
		mu    sync.Mutex
		hosts []*host
	)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(joinConcurrency)
	for i := range n {
		group.Go(func() error {
			h, err := joinPool(ctx, in, fmt.Sprintf("fleet-%04d", i+1))
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			hosts = append(hosts, h)
			if len(hosts)%100 == 0 {
				fmt.Fprintf(os.Stderr, "fleet: %d of %d hosts are in\n", len(hosts), n)
			}
			return nil
		})
	}
	err := group.Wait()
	return hosts, err
}

func closeAll(hosts []*host) {
	var ending sync.WaitGroup
	for _, h := range hosts {
		ending.Go(func() {
			if err := h.close(); err != nil {
				h.log.Warn("closing", "error", err)
			}
		})
	}
	ending.Wait()
}
