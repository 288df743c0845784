package server

import (
	"context"
	"errors"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
	"pinion/server/admission"
	"pinion/server/peer"
)

// OwnTasks asks the leader for what the tasks of this host are to have. The leader gives it to the host that has the task, and to no other.
type OwnTasks struct {
	leader Leadership
	hostID string
}

// Secrets is admission.SecretSealer.OfTask.
func (o OwnTasks) Secrets(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return o.values(ctx, secretsCall{Task: taskID, Containers: containers})
}

// RegistryLogins is admission.SecretSealer.RegistryLogins.
func (o OwnTasks) RegistryLogins(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return o.values(ctx, secretsCall{Task: taskID, Containers: containers, Registry: true})
}

// LogOptions is admission.SecretSealer.LogOptions.
func (o OwnTasks) LogOptions(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return o.values(ctx, secretsCall{Task: taskID, Containers: containers, Log: true})
}

func (o OwnTasks) values(ctx context.Context, call secretsCall) (values []valuefrom.Value, err error) {
	err = o.leader.callLeader(ctx, pathSecrets, call, &values, func(own *Server) (err error) {
		values, err = call.of(own.secrets)(ctx, o.hostID, call.Task, call.Containers)
		return err
	})
	return values, err
}

// Credentials is admission.SecretSealer.KeyOfTask: the access key that a task has by its role.
func (o OwnTasks) Credentials(ctx context.Context, taskID string) (key admission.TaskKey, err error) {
	err = o.leader.callLeader(ctx, pathCredentials, credentialsCall{taskID}, &key, func(own *Server) (err error) {
		key, err = own.secrets.KeyOfTask(ctx, o.hostID, taskID)
		return err
	})
	return key, err
}

// Protection is the scale-in protection of a task, after it was set if until is not nil; a zero time ends it. ECS's agent has it for containers.
func (o OwnTasks) Protection(ctx context.Context, taskID string, until *time.Time) (is Protection, err error) {
	in := protectionCall{taskID, until}
	err = o.leader.callLeader(ctx, pathProtection, in, &is, func(own *Server) (err error) {
		is, err = in.carryOut(ctx, own, o.hostID)
		return err
	})
	return is, err
}

// HostTags are the tags that the pool has of this host.
func (o OwnTasks) HostTags(ctx context.Context) (tags []spec.Tag, err error) {
	err = o.leader.callLeader(ctx, pathHostTags, struct{}{}, &tags, func(own *Server) (err error) {
		tags, err = own.tagsOfHost(ctx, o.hostID)
		return err
	})
	return tags, err
}

// ofOwnTasks answers calls of hosts, each about a task of its own, while this host leads. One that asks for what it is not to have is reported.
func ofOwnTasks[In, Out any](a *peerAPI, answer func(ctx context.Context, own *Server, from string, in In) (Out, error)) func(ctx context.Context, from string, in In) (Out, error) {
	return func(ctx context.Context, from string, in In) (out Out, err error) {
		own, err := a.server.leading()
		if err != nil {
			return out, err
		}
		out, err = answer(ctx, own, from, in)
		if errors.Is(err, admission.ErrForeignTask) {
			a.port.ReportRefusal(peer.Refusal{Operation: peer.OpCall, HostID: from, Reason: err})
		}
		return out, err
	}
}
