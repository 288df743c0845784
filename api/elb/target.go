package elb

import (
	"cmp"
	"context"
	"net/netip"
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/traffic"
)

// targetView is a target and whether it gets requests.
type targetView struct {
	Target struct {
		Id   string
		Port int
	}
	HealthCheckPort string
	TargetHealth    struct {
		State       string
		Reason      string `xml:",omitempty"`
		Description string `xml:",omitempty"`
	}
}

// reasons are ELB's for the states of targets.
var reasons = map[traffic.TargetState][2]string{
	traffic.Initial:   {"Elb.InitialHealthChecking", "Initial health checks in progress"},
	traffic.Unhealthy: {"Target.FailedHealthChecks", "Health checks failed"},
	traffic.Draining:  {"Target.DeregistrationInProgress", "Target deregistration is in progress"},
}

// describeTargetHealth tells of the targets that are tasks which the caller may see, and of those that were registered by address.
func describeTargetHealth(_ context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	asked, err := targetsIn(in, g, false)
	if err != nil {
		return nil, err
	}
	named, shown := namedTargets(asked), targetSet{}
	var views []targetView
	for _, t := range routing.Targets(r.View, g) {
		if view, may := r.showTarget(g, t); may && (len(asked) == 0 || named.has(view.Target.Id, view.Target.Port)) {
			views = append(views, view)
			shown[loadbalancer.Target{Address: view.Target.Id, Port: view.Target.Port}] = true
			shown[loadbalancer.Target{Address: view.Target.Id}] = true
		}
	}
	for _, t := range asked {
		if !shown[t] {
			var v targetView
			v.Target.Id, v.Target.Port, v.HealthCheckPort = t.Address, t.Port, trafficPort
			v.TargetHealth.State, v.TargetHealth.Reason, v.TargetHealth.Description = "unused", "Target.NotRegistered", "Target is not registered to the target group"
			views = append(views, v)
		}
	}
	return struct {
		TargetHealthDescriptions []targetView `xml:"TargetHealthDescriptions>member"`
	}{views}, nil
}

// targetSet are targets that a request names: by the address, and by the port unless that is 0.
type targetSet map[loadbalancer.Target]bool

func namedTargets(all []loadbalancer.Target) targetSet {
	set := make(targetSet, len(all))
	for _, t := range all {
		set[t] = true
	}
	return set
}

func (s targetSet) has(address string, port int) bool {
	return s[loadbalancer.Target{Address: address, Port: port}] || s[loadbalancer.Target{Address: address}]
}

// showTarget shows a target, and reports whether the caller may see it.
func (r *Request) showTarget(g *loadbalancer.Group, t traffic.Target) (v targetView, may bool) {
	if id, ofTask := traffic.ParseTargetID(t.ID); ofTask {
		if task := r.View.Task(id.Task); task == nil || !r.Principal.SeesTask(task) {
			return v, false
		}
	}
	at := strings.LastIndexByte(t.Address, ':')
	v.Target.Id = strings.Trim(t.Address[:at], "[]")
	v.Target.Port, _ = strconv.Atoi(t.Address[at+1:])
	v.HealthCheckPort = itoa(v.Target.Port)
	if g.Health.Port != 0 {
		v.HealthCheckPort = itoa(g.Health.Port)
	}
	v.TargetHealth.State = string(t.State)
	v.TargetHealth.Reason, v.TargetHealth.Description = r.reason(t)
	return v, true
}

// reason is ELB's code for the state of a target, and the same in words: what the host of a task found, where it has found it unhealthy.
func (r *Request) reason(t traffic.Target) (code, words string) {
	code, words = reasons[t.State][0], reasons[t.State][1]
	id, _ := traffic.ParseTargetID(t.ID)
	if task := r.View.Task(id.Task); task != nil && t.State == traffic.Unhealthy {
		if found := traffic.FindHealth(task.Targets, id.Group, id.Container, id.Port); found != nil {
			code, words = cmp.Or(found.Reason, code), cmp.Or(found.Detail, words)
		}
	}
	return code, words
}

// targetsIn reads the targets that a request names; their ports are those of the group where they have none and have to have one.
func targetsIn(in form, g *loadbalancer.Group, withPort bool) (all []loadbalancer.Target, err error) {
	given, err := in.structures("Targets")
	if err != nil {
		return nil, err
	}
	for _, one := range given {
		otherwise := 0
		if withPort {
			otherwise = g.Port
		}
		port, err := one.number("Port", 1, maxPort, otherwise)
		if err != nil {
			return nil, err
		}
		all = append(all, loadbalancer.Target{Address: one.text("Id"), Port: port})
	}
	return all, nil
}

func registerTargets(ctx context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	targets, err := targetsIn(in, g, true)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, invalid("Targets must be given.")
	}
	for _, t := range targets {
		address, err := netip.ParseAddr(t.Address)
		switch {
		case g.TargetType != loadbalancer.IP:
			return nil, wire.Errorf("InvalidTarget", "pinion: the target group '%s' is of the type instance: tasks of services that name it in loadBalancers are its targets. Make it of the type ip to register addresses.", g.Name)
		case err != nil || traffic.CheckTargetAddress(address, traffic.DefaultVirtualRange) != nil:
			return nil, wire.Errorf("InvalidTarget", "The IP address '%s' is not a valid target: write an address that all hosts of the pool reach", t.Address)
		case t.Port == 0:
			return nil, invalid("The target %s needs a port, because the target group has none.", t.Address)
		}
	}
	_, err = change[*loadbalancer.Group](ctx, r, loadbalancer.UpdateGroup{ID: g.ID, Register: targets})
	return empty{}, err
}

func deregisterTargets(ctx context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	targets, err := targetsIn(in, g, false)
	if err != nil {
		return nil, err
	}
	named := namedTargets(targets)
	var gone []loadbalancer.Target
	for _, known := range g.Targets {
		if named.has(known.Address, known.Port) {
			gone = append(gone, known)
		}
	}
	if len(gone) == 0 {
		return empty{}, nil
	}
	_, err = change[*loadbalancer.Group](ctx, r, loadbalancer.UpdateGroup{ID: g.ID, Deregister: gone})
	return empty{}, err
}
