package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
)

// Rollouts knows those of services. It is asked on the leader only, which alone knows which hosts take tasks.
type Rollouts interface {
	// DryRunService is what the pool will do with a service of a fork of its state, which it changes. spec.ErrNotFound.
	DryRunService(ctx context.Context, fork *raftfsm.State, cluster, name string) (service.DryRun, error)
	// ServiceProgress is how far a service of a state has got with its deployments.
	ServiceProgress(v *raftfsm.View, s *service.Service) (service.Progress, error)
}

// maxDryRunTime bounds one dry run, which costs the leader as much as all of its steps.
const maxDryRunTime = 10 * time.Second

// dryRunInput is an update of a service that is not carried out.
type dryRunInput struct {
	Definition any `json:"definition,omitempty"` // as RegisterTaskDefinition takes it: the update deploys it
	Update     any `json:"update"`               // as UpdateService takes it
}

// dryRunRoute is the route of dry runs of services. They are made on a fork of the state: the operations check and change it as they do the state.
func (o *operationEndpoints) dryRunRoute(rollouts Rollouts) rest.Route {
	return rest.Route{
		Method: http.MethodPost, Path: "/v1/services/plan", Role: accesskey.RoleSubmit, Scope: auth.PerResource, Summary: "what an UpdateService would do to the tasks of a service, without doing it",
		In: reflect.TypeFor[dryRunInput](), Out: reflect.TypeFor[service.DryRun](), List: true,
		Serve: func(x *httpx.Exchange, res leader.Resolution) error { return o.dryRunService(x, res, rollouts) },
	}
}

func (o *operationEndpoints) dryRunService(x *httpx.Exchange, res leader.Resolution, rollouts Rollouts) error {
	if rollouts == nil {
		return wire.Errorf(wire.Client, "pinion: plans of services are not made here: this pinion serves one host that is not part of a pool.")
	}
	var in dryRunInput
	if err := wire.DecodeJSON(x.Body, &in, wire.Strict); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(x.Context(), maxDryRunTime, wire.Errorf(wire.Client, "The plan takes more than %s: plan it for fewer tasks.", maxDryRunTime))
	defer cancel()
	fork := forkStore{Store: o.store, fork: raftfsm.Fork(res.View)}
	if in.Definition != nil {
		var registered struct {
			Definition struct {
				ARN string `json:"taskDefinitionArn"`
			} `json:"taskDefinition"`
		}
		if err := o.onFork(ctx, x, res, fork, "RegisterTaskDefinition", in.Definition, &registered); err != nil {
			return err
		}
		update, _ := in.Update.(map[string]any)
		if update == nil {
			update = map[string]any{}
		}
		update["taskDefinition"], in.Update = registered.Definition.ARN, update
	}
	var updated struct {
		Service struct {
			Name    string `json:"serviceName"`
			Cluster string `json:"clusterArn"`
			Sets    []any  `json:"taskSets"`
		} `json:"service"`
	}
	if err := o.onFork(ctx, x, res, fork, "UpdateService", in.Update, &updated); err != nil {
		return err
	}
	if len(updated.Service.Sets) > 0 {
		return wire.Errorf(wire.InvalidParameter, "The service %s has task sets, of which none replaces another: there is nothing to plan.", updated.Service.Name)
	}
	result, err := rollouts.DryRunService(ctx, fork.fork, nameInARN(updated.Service.Cluster), updated.Service.Name)
	if err != nil {
		return err
	}
	x.Reply(http.StatusOK, result)
	return nil
}

// onFork runs an operation of ECS on a fork of the state in the name of the caller.
func (o *operationEndpoints) onFork(ctx context.Context, x *httpx.Exchange, res leader.Resolution, fork forkStore, name string, input, into any) error {
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	on := res
	on.View = fork.fork.View()
	in := o.input(&request{Exchange: x, Resolution: on, endpoint: o.json.endpoints[name]}, &o.json)
	in.Store = fork
	bound, err := ecs.Operations[name].Prepare(in, body, wire.DecodeJSON)
	if err != nil {
		return err
	}
	output, err := bound.Run(ctx)
	x.Warn(in.Warnings)
	if err != nil {
		return err
	}
	text, err := json.Marshal(output)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// forkStore records changes in a fork of the state.
type forkStore struct {
	Store
	fork *raftfsm.State
}

// View is the fork as it is.
func (s forkStore) View(context.Context) (*raftfsm.View, error) { return s.fork.View(), nil }

// Propose changes the fork.
func (s forkStore) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	return s.fork.Apply(s.fork.View().Index()+1, c)
}

// nameInARN is what is behind the last slash of an ARN.
func nameInARN(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
