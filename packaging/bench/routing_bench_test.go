package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/testbed"
	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/server"
)

const (
	proxyHosts    = 100 // hosts whose proxies are told of endpoints
	endpointGroup = "0123456789abcdef"
)

// BenchmarkRouting measures how long a change of the endpoints of a service takes to reach the proxies of all hosts, from the host's report or the
// user's stop on. Each host is an agent with a TLS session of its own, and has one task of the service, which begins to run, gets healthy, and drains.
func BenchmarkRouting(b *testing.B) {
	once(b)
	c := newInprocCluster(b, 0)
	all, err := c.joinProxies(proxyHosts / *scale)
	must(b, err)
	must(b, c.createTraffic(len(all)))
	times, err := c.changeEndpoints(all)
	must(b, err)
	reportPercentiles(b, "", times)
}

// proxyHost is a host as far as its proxy is concerned.
type proxyHost struct {
	spec.Host
	member *server.Member
	routed chan routed // each Routing that it gets
	task   atomic.Pointer[spec.TaskReport]
}

// routed is a Routing and when a host had it.
type routed struct {
	*traffic.Routing
	at time.Time
}

// joinProxies has so many agents join.
func (c *inprocCluster) joinProxies(hosts int) (all []*proxyHost, err error) {
	token, err := c.leader().JoinTokens.CreateJoinToken(c.Context(), 0, hosts, jointoken.RoleAgent, benchCluster)
	if err != nil {
		return nil, err
	}
	address := c.first.Endpoint[len("https://"):]
	for i := range hosts {
		h := &proxyHost{routed: make(chan routed, 1024), Host: spec.Host{
			ID: scatteredID(4, i), Name: fmt.Sprint("proxy-", i), Cluster: benchCluster, CPU: 4096, MemoryMiB: 4096, FeatureLevel: raftfsm.FeatureLevel,
		}}
		member, port, _, err := c.openMember(h.Host, address, token)
		if err != nil {
			return nil, err
		}
		h.member, h.Address = member, port.Addr().String()
		c.inBackground(h.followRouting)
		all = append(all, h)
	}
	return all, nil
}

// followRouting takes each Routing as the agent does, and joins again when its session ends: servers divide the sessions among themselves.
func (h *proxyHost) followRouting(ctx context.Context) {
	var seen *traffic.Routing
	for ctx.Err() == nil {
		next, err := h.member.Agent().Routing(ctx, h.ID, seen)
		if err != nil {
			_ = h.join(ctx) // it is tried again
			continue
		}
		seen = next
		select {
		case h.routed <- routed{next, time.Now()}:
		case <-ctx.Done():
		}
	}
}

// join opens a session and says what has become of the host's task.
func (h *proxyHost) join(ctx context.Context) error {
	testbed.Rest(ctx, time.Millisecond)
	var running []spec.TaskReport
	if task := h.task.Load(); task != nil {
		running = append(running, *task)
	}
	_, err := h.member.Agent().Join(ctx, h.Host, running)
	return err
}

// report says what has become of the host's task, in a session that lasts.
func (h *proxyHost) report(ctx context.Context, task spec.TaskReport) error {
	h.task.Store(&task)
	_, err := h.member.Agent().Report(ctx, h.ID, []spec.TaskReport{task})
	if errors.Is(err, spec.ErrNotFound) {
		return h.join(ctx)
	}
	return err
}

// createTraffic records a service with a target group: a task on the network of each host.
func (c *inprocCluster) createTraffic(tasks int) error {
	definition := spec.TaskDefinition{Family: "web", Status: spec.DefinitionActive, NetworkMode: "host", Containers: []spec.ContainerDefinition{{
		Name: "web", Image: "pinion/self", Memory: 64, PortMappings: []spec.PortMapping{{ContainerPort: 8080, HostPort: 8080, Protocol: "tcp"}},
	}}}
	for _, change := range []raftfsm.Command{
		raftfsm.RegisterDefinition{Definition: definition},
		raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: endpointGroup, Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.Instance}}),
		raftfsm.CreateService{
			Service: service.Service{ID: serviceID(0), Cluster: benchCluster, Name: "web", Strategy: service.Replica, Desired: tasks, CreatedAt: time.Now()},
			Revision: service.Revision{ID: serviceID(0), Definition: "web:1",
				LoadBalancers: []service.LoadBalancer{{Group: endpointGroup, Container: "web", Port: 8080}}},
			Rollout: service.Rollout{ID: serviceID(0), CreatedAt: time.Now()},
		},
	} {
		if _, err := c.leader().Propose(c.Context(), change); err != nil {
			return err
		}
	}
	return c.wait(fmt.Sprint("each of ", tasks, " hosts has a task"), func() (bool, error) {
		view, err := c.leader().StaleView()
		if err != nil {
			return false, err
		}
		placed := 0
		for _, t := range view.ServiceTasks(serviceID(0)) {
			if t.HostID != "" {
				placed++
			}
		}
		return placed == tasks, nil
	})
}

// changeEndpoints takes the task of each host through its life as an endpoint, and returns how long each host waited for each change.
func (c *inprocCluster) changeEndpoints(all []*proxyHost) (times []time.Duration, err error) {
	view, err := c.leader().StaleView()
	if err != nil {
		return nil, err
	}
	tasks := view.ServiceTasks(serviceID(0))
	for _, h := range all {
		at := slices.IndexFunc(tasks, func(t *spec.Task) bool { return t.HostID == h.ID })
		if at < 0 {
			return nil, fmt.Errorf("host %s has no task", h.ID)
		}
		task := tasks[at].ID
		report := func(health traffic.TargetState) func() error {
			r := spec.TaskReport{TaskID: task, Status: spec.Running, Times: spec.TaskTimes{Started: time.Now()}}
			if health != traffic.Initial {
				r.Targets = []traffic.TargetHealth{{Group: endpointGroup, Container: "web", Port: 8080, State: health}}
			}
			return func() error { return h.report(c.Context(), r) }
		}
		stop := func() error {
			_, err := c.leader().Propose(c.Context(), raftfsm.StopTask{ID: task, Code: spec.StopUserInitiated, At: time.Now()})
			return err
		}
		id := traffic.TargetID{Group: endpointGroup, Task: task, Container: "web", Port: 8080}.String()
		for _, step := range []struct {
			state  traffic.TargetState
			change func() error
		}{{traffic.Initial, report(traffic.Initial)}, {traffic.Healthy, report(traffic.Healthy)}, {traffic.Draining, stop}} {
			took, err := c.spread(all, id, step.state, step.change)
			if err != nil {
				return nil, fmt.Errorf("%s gets %s: %w", id, step.state, err)
			}
			times = append(times, took...)
		}
	}
	return times, nil
}

// spread makes a change and returns after how long each host had the endpoint in this state.
func (c *inprocCluster) spread(all []*proxyHost, endpoint string, state traffic.TargetState, change func() error) ([]time.Duration, error) {
	begin := time.Now()
	times := make([]time.Duration, len(all))
	waiting, ctx := errgroup.WithContext(c.Context())
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	waiting.Go(change)
	for i, h := range all {
		waiting.Go(func() error {
			for {
				select {
				case r := <-h.routed:
					if r.has(endpoint, state) {
						times[i] = r.at.Sub(begin)
						return nil
					}
				case <-ctx.Done():
					return errors.Join(fmt.Errorf("host %s was not told", h.ID), context.Cause(ctx))
				}
			}
		})
	}
	return times, waiting.Wait()
}

// has reports whether an endpoint of the group is in a state.
func (r routed) has(endpoint string, state traffic.TargetState) bool {
	return slices.ContainsFunc(r.Groups, func(g traffic.Group) bool {
		return slices.ContainsFunc(g.Targets, func(t traffic.Target) bool { return t.ID == endpoint && t.State == state })
	})
}
