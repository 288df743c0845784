package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// placingHosts are the hosts of the figures for placements, of eight GPUs each; they are filled up to nine tenths.
	placingHosts = 5000
	// runCount is how many tasks one RunTask asks for.
	runCount = 10
	// runClients wait for their answers at the same time, each on a connection of its own.
	runClients = 128
	// offeredRate is how many placements a second are asked for when replies are timed, for offeredTime.
	offeredRate = 4000
	offeredTime = 5 * time.Second
)

// measurePlacing measures the path of a RunTask: planned, recorded by three servers with their logs on the disk, answered.
func measurePlacing(ctx context.Context, o options) (figures []figure, err error) {
	planned, err := measurePlanner()
	if err != nil {
		return nil, err
	}
	figures = append(figures, planned...)
	reference, err := bareRate()
	if err != nil {
		return figures, err
	}
	var few float64
	for _, hosts := range []int{1000, placingHosts, 10_000} {
		rate, replies, err := placeOn(ctx, hosts)
		if err != nil {
			return figures, fmt.Errorf("%d hosts: %w", hosts, err)
		}
		line := figure{fmt.Sprintf("durable placements a second, %d hosts (CPU of servers and clients)", hosts), rate.String(), reference, "-"}
		switch hosts {
		case 1000:
			few = rate.perSecond
		case placingHosts:
			line.reach = "at least 10000"
		default:
			line.reference, line.reach = fmt.Sprintf("%.2f x 1000 hosts", rate.perSecond/few), "at least 0.5 x"
		}
		figures = append(figures, line)
		if len(replies) > 0 {
			figures = append(figures, figure{fmt.Sprintf("reply at %d placements a second, p50 (p99)", offeredRate),
				ms(median(replies)) + " (" + ms(percentile(replies, 0.99)) + ")", "-", "p99 at most 250 ms"})
		}
	}
	return figures, nil
}

// rate is how fast placements are recorded, and what one costs this process, which is servers and clients together: on a
// machine that others use too, that says more.
type rate struct {
	perSecond float64
	cpu       time.Duration
}

func (r rate) String() string { return fmt.Sprintf("%.0f (%s)", r.perSecond, µs(r.cpu)) }

// placeOn fills the hosts of a new pool: first at the offered rate, then as fast as it goes.
func placeOn(ctx context.Context, hosts int) (r rate, replies []time.Duration, err error) {
	t, err := startTrio(ctx, hosts)
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	runner, err := t.runner(ctx)
	if err != nil {
		return r, nil, err
	}
	defer runner.close()
	all := hosts * 8 * 9 / 10 / runCount
	if hosts == placingHosts {
		offered := int(offeredRate*offeredTime.Seconds()) / runCount
		if replies, err = runner.offer(ctx, offered); err != nil {
			return r, nil, err
		}
		all -= offered
	}
	begin, used := time.Now(), ownCPU()
	if err := runner.fill(ctx, all); err != nil {
		return r, nil, err
	}
	r.perSecond = float64(all*runCount) / time.Since(begin).Seconds()
	r.cpu = (ownCPU() - used) / time.Duration(all*runCount)
	return r, replies, nil
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// runner asks a trio to run tasks of one GPU.
type runner struct {
	http  http.Client
	first credentials
	runs  atomic.Int64
}

func (t *trio) runner(ctx context.Context) (*runner, error) {
	definition := spec.TaskDefinition{Family: "bench", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{
		Name: "main", Image: "pinion/self", CPU: 1024, Memory: 1024,
		ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}},
	}}}
	if _, err := t.leader().Propose(ctx, raftfsm.RegisterDefinition{Definition: definition}); err != nil {
		return nil, err
	}
	config, err := t.first.tls()
	if err != nil {
		return nil, err
	}
	r := &runner{first: t.first}
	r.http = http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: runClients, MaxConnsPerHost: runClients}}
	return r, nil
}

func (r *runner) close() { r.http.CloseIdleConnections() }

// run is one RunTask with a client token, as those of AWS's clients are, asked again like theirs while the pool cannot do it.
// All its tasks have to find a place.
func (r *runner) run(ctx context.Context) (err error) {
	body := fmt.Appendf(nil, `{"cluster":%q,"taskDefinition":"bench","count":%d,"clientToken":"run-%d"}`, trioCluster, runCount, r.runs.Add(1))
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Second) {
		again := false
		if again, err = r.ask(ctx, body); !again {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return err
}

// ask is one attempt; again says that another may do better.
func (r *runner) ask(ctx context.Context, body []byte) (again bool, err error) {
	request, err := r.first.sign(ctx, "RunTask", body)
	if err != nil {
		return false, err
	}
	response, err := r.http.Do(request)
	if err != nil {
		return true, err
	}
	answer, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	placed := bytes.Count(answer, []byte(`"taskArn"`))
	if err == nil && (response.StatusCode != http.StatusOK || placed < runCount) {
		err = fmt.Errorf("%d, %d tasks: %.300s", response.StatusCode, placed, answer)
	}
	return placed == 0 && response.StatusCode != http.StatusBadRequest, err
}

// fill asks so often, by many clients each of which waits for its answer.
func (r *runner) fill(ctx context.Context, runs int) error {
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
func (r *runner) offer(ctx context.Context, runs int) ([]time.Duration, error) {
	const every = time.Second * runCount / offeredRate
	var (
		mu    sync.Mutex
		times []time.Duration
	)
	clients, running := errgroup.WithContext(ctx)
	begin := time.Now()
	for n := range runs {
		due := begin.Add(time.Duration(n) * every)
		time.Sleep(time.Until(due))
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
