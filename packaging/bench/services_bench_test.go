package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/testbed"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server"
)

const (
	// restingServices have servedTasks each, one GPU a task.
	restingServices = 1000
	servedTasks     = 10
	// restFor is how long a pool at rest is watched, after restAfter of rest.
	restAfter = 15 * time.Second
	restFor   = 30 * time.Second
)

// BenchmarkServices measures what services cost the servers while nothing happens, and how fast another leader gets hold of them: the leader leaves, one
// task of each service is stopped meanwhile, and all of them have another one again. The hosts are known to the state alone.
func BenchmarkServices(b *testing.B) {
	once(b)
	services := restingServices / *scale
	c := newInprocCluster(b, services*(servedTasks+1)/8+1) // a task that stops keeps its GPU until its host says that it has ended
	c.define("serve")
	b.ReportMetric(c.restingCPU(), "hosts-CPU-%")
	must(b, c.createServices(services))
	b.ReportMetric(c.restingCPU(), "CPU-%")
	took, err := c.changeLeader(services)
	must(b, err)
	b.ReportMetric(float64(took.Nanoseconds()), "reconciled-ns")
}

// restingCPU is what this process uses while nothing happens, in percent of one processor: three servers, and the heartbeats of the hosts.
func (c *inprocCluster) restingCPU() float64 {
	testbed.Rest(c.Context(), restAfter)
	begin, used := time.Now(), ownCPU()
	testbed.Rest(c.Context(), restFor)
	return 100 * (ownCPU() - used).Seconds() / time.Since(begin).Seconds()
}

func serviceID(i int) string { return scatteredID(3, i) }

// createServices records services and has their tasks run.
func (c *inprocCluster) createServices(services int) error {
	recording, ctx := errgroup.WithContext(c.Context())
	recording.SetLimit(64)
	for i := range services {
		recording.Go(func() error {
			_, err := c.leader().Propose(ctx, raftfsm.CreateService{
				Service: service.Service{ID: serviceID(i), Cluster: benchCluster, Name: fmt.Sprint("service-", i), Strategy: service.Replica,
					Desired: servedTasks, CreatedAt: time.Now(), Tags: []spec.Tag{{Key: service.TagHealthyAfter, Value: "0s"}}},
				Revision: service.Revision{ID: serviceID(i), Definition: "serve:1"},
				Rollout:  service.Rollout{ID: serviceID(i), CreatedAt: time.Now()},
			})
			return err
		})
	}
	if err := recording.Wait(); err != nil {
		return err
	}
	return c.awaitTasks(c.leader(), services, true)
}

// awaitTasks waits until each service has all of its tasks on hosts. With start, the hosts say of them that they run, and the services are steady.
func (c *inprocCluster) awaitTasks(at *server.Member, services int, start bool) error {
	return c.wait(fmt.Sprint(services, " services have their tasks"), func() (bool, error) {
		view, err := at.StaleView()
		if err != nil {
			return false, err
		}
		placed, steady := 0, 0
		reports := map[string][]spec.TaskReport{}
		for i := range services {
			for _, t := range view.ServiceTasks(serviceID(i)) {
				if t.HostID == "" || t.DesiredStatus == spec.Stopped {
					continue
				}
				if placed++; start && t.LastStatus == spec.Pending {
					reports[t.HostID] = append(reports[t.HostID], spec.TaskReport{TaskID: t.ID, Status: spec.Running, Times: spec.TaskTimes{Started: time.Now()}})
				}
			}
			if s := view.ServiceByID(serviceID(i)); s != nil && !s.Conditions.Steady.IsZero() {
				steady++
			}
		}
		if placed < services*servedTasks || start && steady < services {
			return false, c.report(at, reports)
		}
		return true, nil
	})
}

// report has hosts say what has become of their tasks.
func (c *inprocCluster) report(through *server.Member, reports map[string][]spec.TaskReport) error {
	sending, ctx := errgroup.WithContext(c.Context())
	sending.SetLimit(64)
	for host, of := range reports {
		sending.Go(func() error {
			_, err := through.Agent().Report(ctx, host, of)
			return err
		})
	}
	return sending.Wait()
}

// wait waits until something is so.
func (c *inprocCluster) wait(what string, done func() (bool, error)) error {
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); testbed.Rest(c.Context(), 5*time.Millisecond) {
		if is, err := done(); is || err != nil {
			return err
		}
	}
	return fmt.Errorf("still not, after %v: %s", waitTimeout, what)
}

// changeLeader has the leader leave and stops one task of each service, and returns how long after the leader began to leave each service had
// another one.
func (c *inprocCluster) changeLeader(services int) (time.Duration, error) {
	next := c.members[1:]
	view, err := next[0].StaleView()
	if err != nil {
		return 0, err
	}
	var stops []raftfsm.StopTask
	for i := range services {
		tasks := view.ServiceTasks(serviceID(i))
		stops = append(stops, raftfsm.StopTask{ID: tasks[rand.IntN(len(tasks))].ID, Code: spec.StopUserInitiated, At: time.Now()})
	}
	for _, m := range next {
		c.inBackground(func(ctx context.Context) { c.beat(ctx, m, func() []string { return c.beating }) })
	}
	begin := time.Now()
	var leaving sync.WaitGroup
	leaving.Go(func() { _ = c.members[0].Close() })
	defer leaving.Wait()
	sending, ctx := errgroup.WithContext(c.Context())
	sending.SetLimit(64)
	for _, stop := range stops {
		sending.Go(func() error { return proposeAtLeader(ctx, next, stop) })
	}
	if err := sending.Wait(); err != nil {
		return 0, err
	}
	err = c.awaitTasks(next[0], services, false)
	return time.Since(begin), err
}

// proposeAtLeader proposes a change at the first of the servers that leads.
func proposeAtLeader(ctx context.Context, servers []*server.Member, change raftfsm.Command) (err error) {
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); testbed.Rest(ctx, time.Millisecond) {
		for _, m := range servers {
			if _, err = m.Propose(ctx, change); err == nil {
				return nil
			}
		}
		if !errors.Is(err, spec.ErrUnavailable) {
			return err
		}
	}
	return err
}
