package server

import (
	"context"

	"pinion/server/admission"
)

// pathCredentials is where the leader makes access keys of tasks. Any host may call it, for the tasks that are its own.
const pathCredentials = pathLeader + "credentials"

// credentialsCall asks for an access key of a task.
type credentialsCall struct {
	Task string `json:"task"`
}

// credentialsHandler answers the calls of hosts.
func credentialsHandler(a *peerAPI) func(ctx context.Context, from string, in credentialsCall) (admission.TaskKey, error) {
	return ofOwnTasks(a, func(ctx context.Context, own *Server, from string, in credentialsCall) (admission.TaskKey, error) {
		return own.secrets.KeyOfTask(ctx, from, in.Task)
	})
}
