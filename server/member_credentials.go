package server

import (
	"context"

	"pinion/server/admission"
)

// pathCredentials is where the leader makes access keys of tasks. Any host may call it, for the tasks that are its own.
const pathCredentials = pathLeader + "credentials"

// TaskCredentials are the access keys that tasks have by their roles.
type TaskCredentials struct{ Member *Member }

// credentialsCall asks for an access key of a task.
type credentialsCall struct {
	Task string `json:"task"`
}

// Of is admission.Secrets.KeyOfTask for a task of this host.
func (c TaskCredentials) Of(ctx context.Context, taskID string) (key admission.TaskKey, err error) {
	m := c.Member
	err = Leadership{m}.callLeader(ctx, pathCredentials, credentialsCall{taskID}, &key, func(own *Server) (err error) {
		key, err = own.secrets.KeyOfTask(ctx, m.cfg.HostID, taskID)
		return err
	})
	return key, err
}

// credentialsHandler answers the calls of hosts.
func credentialsHandler(m *Member) func(ctx context.Context, from string, in credentialsCall) (admission.TaskKey, error) {
	return ofOwnTasks(m, func(ctx context.Context, own *Server, from string, in credentialsCall) (admission.TaskKey, error) {
		return own.secrets.KeyOfTask(ctx, from, in.Task)
	})
}
