package ecs

import (
	"context"

	"github.com/google/shlex"

	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/exec"
	"pinion/api/wire"
)

func executeCommand(ctx context.Context, r *Request, in *types.ExecuteCommandInput) (*types.ExecuteCommandOutput, error) {
	cluster, task, err := namedTask(r, in.Cluster, in.Task)
	if err != nil {
		return nil, err
	}
	if !in.Interactive {
		return nil, field.Errorf("interactive", "interactive must be true: ECS has no other sessions. `pinion exec TASK -- COMMAND` runs a command without a terminal.")
	}
	command, err := shlex.Split(in.Command)
	if err != nil {
		return nil, field.Errorf("command", "command cannot be split into words: %v.", err)
	}
	container, err := exec.Target(r.View, task, in.Container, exec.Caller{Principal: r.Principal, Rights: call.Rights(r)}, true)
	if err != nil {
		return nil, err
	}
	host := r.View.Host(task.HostID)
	if r.Exec == nil || host == nil || !r.Store.Connected(host.ID) {
		return nil, wire.Errorf(exec.TargetNotConnected, "The host of the task is not connected to the pool now: `pinion hosts` shows which is away. Try again when it is back.")
	}
	session, url, err := r.Exec.Open(ctx, host, exec.Request{Task: task.ID, Container: container.Name, Command: command, TTY: true, DataChannel: true})
	if err != nil {
		return nil, err
	}
	render := r.Render()
	return &types.ExecuteCommandOutput{
		ClusterARN: render.ClusterARN(cluster.Name), ContainerARN: render.ContainerARN(task, container.ID), ContainerName: container.Name, Interactive: true,
		Session: types.Session{SessionID: session.ID, StreamURL: url, TokenValue: session.Token}, TaskARN: render.TaskARN(cluster.Name, task.ID),
	}, nil
}
