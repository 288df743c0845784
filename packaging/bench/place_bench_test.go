package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"pinion/packaging/testbed"
)

var scale = flag.Int("scale", 1, "divide the hosts of BenchmarkRunTask by `N`")

const (
	// offeredHosts is the size of the pool whose replies are timed at an offered rate.
	offeredHosts = 5000
	// runCount is how many tasks one RunTask asks for.
	runCount = 10
	// runClients wait for their answers at the same time, each on a connection of its own.
	runClients = 128
	// answerSize is more than the bytes of an answer.
	answerSize = 16 << 10
	// offeredRate is how many placements a second are asked for when replies are timed, for offeredTime.
	offeredRate = 4000
	offeredTime = 5 * time.Second
)

// BenchmarkRunTask measures the path of a RunTask: planned, recorded by three servers with their logs on the disk, answered. The
// hosts are filled up to nine tenths. In the last run tasks keep every CPU busy meanwhile.
func BenchmarkRunTask(b *testing.B) {
	for _, hosts := range []int{1000, offeredHosts, 10_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				newInprocCluster(b, hosts / *scale).fillHosts(hosts == offeredHosts)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run(fmt.Sprintf("hosts=%d,CPUs=busy", offeredHosts), func(b *testing.B) {
		runBusyTasks(b)
		for b.Loop() {
			newInprocCluster(b, offeredHosts / *scale).fillHosts(true)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// fillHosts fills the hosts: first at the offered rate, if asked to, then as fast as it goes.
func (c *inprocCluster) fillHosts(offer bool) {
	c.define("bench")
	r, err := newTaskRunner(c.first)
	must(c.B, err)
	defer r.close()
	all := len(c.beating) * 8 * 9 / 10 / runCount
	if offer {
		// The clients of a busy pool have connections: 128 handshakes at once are not what is timed.
		must(c.B, r.fill(c.Context(), runClients))
		all -= runClients
		offered := min(int(offeredRate*offeredTime.Seconds())/runCount, all/2)
		replies, err := r.offer(c.Context(), offered)
		must(c.B, err)
		reportPercentiles(c.B, "reply-", replies)
		all -= offered
	}
	begin, used := time.Now(), ownCPU()
	must(c.B, r.fill(c.Context(), all))
	c.ReportMetric(float64(all*runCount)/time.Since(begin).Seconds(), "placements/s")
	// On a machine that others use too, the CPU time says more.
	c.ReportMetric(float64((ownCPU()-used).Nanoseconds())/float64(all*runCount), "CPU-ns/placement")
}

// ownCPU is the CPU time that this process has used, which is servers and clients together.
func ownCPU() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// taskRunner asks a pool to run tasks of one GPU.
type taskRunner struct {
	http http.Client
	key  credentials
	runs atomic.Int64
}

func newTaskRunner(key credentials) (*taskRunner, error) {
	config, err := key.tls()
	if err != nil {
		return nil, err
	}
	return &taskRunner{key: key, http: http.Client{Timeout: waitTimeout, Transport: &http.Transport{
		TLSClientConfig: config, MaxIdleConnsPerHost: runClients, MaxConnsPerHost: runClients,
	}}}, nil
}

func (r *taskRunner) close() { r.http.CloseIdleConnections() }

// run is one RunTask with a client token, retried as AWS's clients do.
// All its tasks have to find a place.
func (r *taskRunner) run(ctx context.Context) (err error) {
	body := fmt.Appendf(nil, `{"cluster":%q,"taskDefinition":"bench","count":%d,"clientToken":"run-%d"}`, benchCluster, runCount, r.runs.Add(1))
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); testbed.Rest(ctx, time.Second) {
		retry := false
		if retry, err = r.send(ctx, body); !retry {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return err
}

// send is one attempt; retry reports whether another may succeed.
func (r *taskRunner) send(ctx context.Context, body []byte) (retry bool, err error) {
	request, err := r.key.sign(ctx, "RunTask", body)
	if err != nil {
		return false, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return true, err
	}
	answer := bytes.NewBuffer(make([]byte, 0, answerSize))
	_, err = answer.ReadFrom(response.Body)
	err = errors.Join(err, response.Body.Close())
	placed := bytes.Count(answer.Bytes(), []byte(`"taskArn"`))
	if err == nil && (response.StatusCode != http.StatusOK || placed < runCount) {
		err = fmt.Errorf("%d, %d tasks: %.300s", response.StatusCode, placed, answer.Bytes())
	}
	return placed == 0 && response.StatusCode != http.StatusBadRequest, err
}

// fill asks so often, by many clients each of which waits for its answer.
func (r *taskRunner) fill(ctx context.Context, runs int) error {
	var asked atomic.Int64
	clients, ctx := errgroup.WithContext(ctx)
	for range runClients {
		clients.Go(func() error {
			for asked.Add(1) <= int64(runs) {
				if err := r.run(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return clients.Wait()
}

// offer asks so often at the offered rate, whether or not answers have come, and returns how long each took from the moment
// it was due.
func (r *taskRunner) offer(ctx context.Context, runs int) ([]time.Duration, error) {
	const every = time.Second * runCount / offeredRate
	var (
		mu    sync.Mutex
		times []time.Duration
	)
	clients, running := errgroup.WithContext(ctx)
	begin := time.Now()
	for n := range runs {
		due := begin.Add(time.Duration(n) * every)
		testbed.Rest(running, time.Until(due))
		if running.Err() != nil {
			break
		}
		clients.Go(func() error {
			err := r.run(running)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(due))
			return err
		})
	}
	err := errors.Join(clients.Wait(), context.Cause(ctx))
	return times, err
}
