package api

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/autoscaling"
	"pinion/api/cloudwatch"
	"pinion/api/cloudwatchlogs"
	"pinion/api/ecs"
	"pinion/api/exec"
	"pinion/api/leader"
	"pinion/api/secrets"
	"pinion/api/secretsmanager"
	"pinion/api/ssm"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// maxCountAWS is the limit of ECS on the tasks of one RunTask; plain HTTP allows more.
const (
	maxCountAWS   = 10
	maxCountPlain = 1000
)

// operationEndpoints finds the endpoints of the operations of ECS, and of the services of AWS beside it.
type operationEndpoints struct {
	store Store
	hosts ecs.HostRemover // nil where no host can be removed
	tasks *ecs.TaskCache
	ended ecs.Ended
	logs  *cloudwatchlogs.Handler
	exec  *exec.Service
	seal  secrets.Sealer // nil where no secrets are kept
	now   func() time.Time

	awsJSON, json, yaml dialect
}

// dialect is how one protocol reads the input of an operation.
type dialect struct {
	decode     ecs.Decoder
	strictness wire.Strictness      // what becomes of unknown fields
	maxCount   int                  // tasks that one RunTask may ask for
	endpoints  map[string]*endpoint // of the operations of ECS, by name
}

func newOperationEndpoints(config Config, logs *cloudwatchlogs.Handler, sessions *exec.Service) *operationEndpoints {
	o := &operationEndpoints{
		store: config.Store, hosts: config.Admin.Hosts, tasks: &config.Shared.tasks, ended: config.Ended, logs: logs, exec: sessions, seal: config.Admin.Secrets, now: config.Now,
		awsJSON: dialect{decode: wire.DecodeJSON, strictness: wire.Lenient, maxCount: maxCountAWS},
		json:    dialect{decode: wire.DecodeJSON, strictness: wire.Strict, maxCount: maxCountPlain},
		yaml:    dialect{decode: wire.DecodeYAML, strictness: wire.Strict, maxCount: maxCountPlain},
	}
	for _, d := range []*dialect{&o.awsJSON, &o.json, &o.yaml} {
		d.endpoints = make(map[string]*endpoint, len(ecs.Operations))
		for name := range ecs.Operations {
			d.endpoints[name] = o.newEndpoint(name, d)
		}
	}
	return o
}

// byTarget finds the operation of AWS's JSON protocol: POST / with the operation in X-Amz-Target. Unknown fields are ignored.
func (o *operationEndpoints) byTarget(r *request) (*endpoint, error) {
	target := r.Request.Header.Get("X-Amz-Target")
	service, name, _ := strings.Cut(target, ".")
	switch {
	case target == "" && isQuery(r.Request):
		return o.byAction(r)
	case target == "":
		return nil, errNoTarget
	case service == cloudwatchlogs.Target:
		return o.cloudWatchLogs(name), nil
	case service == autoscaling.Target:
		return o.autoScaling(name, o.awsJSON.strictness), nil
	case service == exec.SSMTarget && exec.FindSSM(name) == nil:
		return o.systemsManager(name), nil
	case service == ssm.Target:
		return o.parameters(name, o.awsJSON.strictness), nil
	case service == secretsmanager.Target:
		return o.secrets(name, o.awsJSON.strictness), nil
	case service == cloudwatch.Target:
		return o.alarms(name, cloudwatch.JSON), nil
	case service != ecs.Target:
		return nil, wire.Errorf(wire.UnknownOperation, "%s is not an operation of Amazon ECS, CloudWatch, CloudWatch Logs, Application Auto Scaling, Secrets Manager or Systems Manager, which is all that Pinion answers here", target)
	}
	return o.find(name, &o.awsJSON), nil
}

// byPath finds the operation of POST /v1/{operation}, for people and scripts: JSON or YAML, and strict.
func (o *operationEndpoints) byPath(r *request) (*endpoint, error) {
	d := &o.json
	if isYAML(r.Request) {
		d = &o.yaml
	}
	name := r.Request.PathValue("operation")
	switch {
	case ecs.Operations[name].Name != "":
	case autoscaling.Has(name):
		return o.autoScaling(name, d.strictness), nil
	case ssm.Has(name):
		return o.parameters(name, d.strictness), nil
	case secretsmanager.Has(name):
		return o.secrets(name, d.strictness), nil
	}
	return o.find(name, d), nil
}

// byPathOfCBOR finds the operation of RPC v2 CBOR.
func (o *operationEndpoints) byPathOfCBOR(r *request) (*endpoint, error) {
	return o.alarms(r.Request.PathValue("operation"), cloudwatch.CBOR), nil
}

func (o *operationEndpoints) find(name string, d *dialect) *endpoint {
	if known := d.endpoints[name]; known != nil {
		return known
	}
	return o.newEndpoint(name, d)
}

func isYAML(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/yaml" || kind == "text/yaml" || kind == "application/x-yaml"
}

// newEndpoint is the endpoint of an operation of ECS, known or not. A write is the leader's; a read may be answered by a
// follower.
func (o *operationEndpoints) newEndpoint(name string, d *dialect) *endpoint {
	operation, unknown := ecs.Find(name)
	e := &endpoint{
		name: name, role: operation.Role, scope: operation.Scope, audited: operation.Own, ownHost: operation.Host, unknown: unknown, mode: leader.FollowerRead,
		writes: unknown != nil || operation.Writes, repeats: !operation.StartsTasks, list: operation.Lists,
	}
	if e.writes {
		e.mode = leader.Linearizable
	}
	e.bind = func(r *request) (call, error) {
		in := o.input(r, d)
		bound, err := operation.Prepare(in, r.Body, d.decode)
		if err != nil {
			return call{}, err
		}
		return call{clientToken: bound.ClientToken, run: func(ctx context.Context) error {
			output, err := bound.Run(ctx)
			r.Warn(in.Warnings)
			if err != nil {
				return err
			}
			r.Reply(http.StatusOK, output)
			return nil
		}}, nil
	}
	return e
}

func (o *operationEndpoints) input(r *request, d *dialect) *ecs.Request {
	principal, onlyHost := r.Resolution.Principal, ""
	if !principal.Role.May(r.endpoint.role) {
		onlyHost = principal.HostID
	}
	return &ecs.Request{
		Region: principal.Region, Principal: principal.ARN, Owner: principal.Owner, OnlyHost: onlyHost, KeyClusters: principal.Clusters, Role: principal.Role, Grant: principal.Grant, Strictness: d.strictness, MaxCount: d.maxCount,
		View: r.View, Store: storeOf(o.store, r.Resolution), Hosts: o.hosts, Now: o.now, TaskCache: o.tasks, Ended: o.ended,
		Exec: execOpener{o.exec, r},
	}
}

// cloudWatchLogs is the endpoint of an operation of CloudWatch Logs. A key that may read a task may read its log.
func (o *operationEndpoints) cloudWatchLogs(name string) *endpoint {
	operation, unknown := cloudwatchlogs.Find(name)
	return &endpoint{
		name: cloudwatchlogs.Service + ":" + name, role: cmp.Or(operation.Role, accesskey.RoleRead), unknown: unknown,
		writes: operation.Writes, scope: operation.Scope, repeats: true,
		bind: func(r *request) (call, error) {
			return call{run: func(context.Context) error { return o.logs.Serve(r.Exchange, r.Resolution, operation) }}, nil
		},
	}
}

// autoScaling is the endpoint of an operation of Application Auto Scaling.
func (o *operationEndpoints) autoScaling(name string, strict wire.Strictness) *endpoint {
	operation, unknown := autoscaling.Find(name)
	return &endpoint{
		name: autoscaling.Service + ":" + name, role: cmp.Or(operation.Role, accesskey.RoleRead), unknown: unknown, writes: operation.Writes, scope: operation.Scope, repeats: true,
		bind: func(r *request) (call, error) {
			answer, err := operation.Prepare(&autoscaling.Request{Principal: r.Resolution.Principal, View: r.View, Store: o.store, Now: o.now, Strictness: strict}, r.Body)
			if err != nil {
				return call{}, err
			}
			return call{run: func(ctx context.Context) error {
				output, err := answer(ctx)
				if err != nil {
					return err
				}
				r.Reply(http.StatusOK, output)
				return nil
			}}, nil
		},
	}
}

// parameters is the endpoint of an operation of Parameter Store.
func (o *operationEndpoints) parameters(name string, strict wire.Strictness) *endpoint {
	operation, unknown := ssm.Find(name)
	return o.ofSecrets(ssm.Service+":"+name, operation, unknown, strict)
}

// secrets is the endpoint of an operation of Secrets Manager.
func (o *operationEndpoints) secrets(name string, strict wire.Strictness) *endpoint {
	operation, unknown := secretsmanager.Find(name)
	return o.ofSecrets(secretsmanager.Service+":"+name, operation, unknown, strict)
}

// ofSecrets is the endpoint of an operation about parameters or secrets, which decides itself which of them the caller may read. Values are in the
// answers of reads alone: that of a change is kept for a while, see chain.changeOnce.
func (o *operationEndpoints) ofSecrets(name string, operation secrets.Operation, unknown error, strict wire.Strictness) *endpoint {
	return &endpoint{
		name: name, role: cmp.Or(operation.Role, accesskey.RoleRead), unknown: unknown, writes: operation.Writes, scope: operation.Scope, audited: operation.Audited, list: operation.Lists, repeats: true,
		bind: func(r *request) (call, error) {
			return call{run: func(ctx context.Context) error {
				in := &secrets.Request{Principal: r.Resolution.Principal, View: r.View, Store: o.store, Sealer: o.seal, Now: o.now, Strictness: strict}
				output, err := operation.Run(ctx, in, r.Body)
				if len(in.Used) > 0 {
					r.Operation += " " + strings.Join(in.Used, " ") // who has read and changed which, for the audit log
				}
				if err != nil {
					return err
				}
				r.Reply(http.StatusOK, output)
				return nil
			}}, nil
		},
	}
}

// systemsManager is the endpoint of an operation of AWS Systems Manager, for sessions of ExecuteCommand. It is about the sessions of the caller's key alone.
func (o *operationEndpoints) systemsManager(name string) *endpoint {
	return &endpoint{
		name: exec.SSMService + ":" + name, role: exec.SSMRole, unknown: exec.FindSSM(name), scope: auth.Unscoped, writes: true, repeats: name == exec.Terminate, // a token is for one
		bind: func(r *request) (call, error) {
			return call{run: func(ctx context.Context) error {
				return o.exec.RunSSM(ctx, name, r.Exchange, r.Resolution.Principal, r.View)
			}}, nil
		},
	}
}

// alarms is the endpoint of an operation of CloudWatch. It is about services, and decides itself which those are.
func (o *operationEndpoints) alarms(name string, p cloudwatch.Protocol) *endpoint {
	operation, unknown := cloudwatch.Find(name)
	return &endpoint{
		name: cloudwatch.Service + ":" + name, role: operation.Role, unknown: unknown, writes: operation.Writes, scope: operation.Scope, repeats: true,
		bind: func(r *request) (call, error) {
			return call{run: func(ctx context.Context) error {
				in := &cloudwatch.Request{ID: r.ID, Principal: r.Resolution.Principal, View: r.View, Store: o.store, Now: o.now}
				text, err := operation.Run(ctx, in, p, r.Body)
				if err != nil {
					return err
				}
				r.ReplyEncoded(http.StatusOK, text)
				return nil
			}}, nil
		},
	}
}

// storeOf is the store for a request with this resolution.
func storeOf(store Store, res leader.Resolution) ecs.Store {
	if res.Unreachable == nil {
		return store
	}
	return followerStore{store, res}
}

// followerStore is the store for a read that the leader has confirmed. It takes no changes.
type followerStore struct {
	Store
	resolution leader.Resolution
}

// Connected is what the leader has confirmed.
func (s followerStore) Connected(hostID string) bool {
	return s.resolution.Connected(hostID, s.Store.Connected)
}

// errNoTarget refuses a POST / without a target that is of no AWS protocol.
var errNoTarget = wire.Errorf(wire.UnknownOperation, "The X-Amz-Target header is missing. It names the operation: AmazonEC2ContainerServiceV20141113.RunTask. Without an AWS client, POST to /v1/RunTask.")

// errNoAction refuses the query protocol of another service.
func errNoAction(action, version string) error {
	return wire.Errorf("InvalidAction", "pinion: action %q (API version %q) is not supported: Pinion answers Amazon ECS only. "+
		"Where a CloudFormation stack makes the cluster and its hosts, start hosts with `pinion up` and name the cluster instead: export cluster=default", action, version)
}
