package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/raftfsm/taskrole"
)

// ErrNoRole refuses a key to a task that has no role of the pool.
var ErrNoRole = errors.New("the task has no role of the pool")

// TaskKey is the access key that a task has by its role, for taskrole.Lifetime.
type TaskKey struct {
	RoleARN string    `json:"roleArn"`
	ID      string    `json:"id"`
	Secret  string    `json:"secret"`
	Token   string    `json:"token"` // which requests carry beside their signature
	Expires time.Time `json:"expires"`
}

// KeyOfTask makes an access key of a task for the host that the task is on: other hosts get none, which is ErrForeignTask. ErrNoRole. Nothing is recorded: what
// the key may do follows from the state whenever it is used, and the secret is in the token, sealed for this key alone.
func (s SecretSealer) KeyOfTask(ctx context.Context, hostID, taskID string) (TaskKey, error) {
	keys, err := s.Keys()
	if err != nil {
		return TaskKey{}, err
	}
	view, err := keys.Server.View(ctx)
	if err != nil {
		return TaskKey{}, err
	}
	task := view.Task(taskID)
	if task != nil && task.HostID != hostID {
		return TaskKey{}, fmt.Errorf("an access key of task %s for host %s: %w", taskID, hostID, ErrForeignTask)
	}
	role := taskrole.OfTask(view, taskID)
	if role == nil {
		return TaskKey{}, fmt.Errorf("an access key of task %s: %w: it was removed, or the task has stopped", taskID, ErrNoRole)
	}
	key := TaskKey{RoleARN: taskrole.ARN(role.Name), Secret: newKeySecret(), Expires: keys.Server.Now().Add(taskrole.Lifetime).UTC().Truncate(time.Second)}
	var known bool
	if key.ID, known = taskrole.NewKeyID(taskID, key.Expires); !known {
		return TaskKey{}, fmt.Errorf("an access key of task %s: %w: its id has another form", taskID, ErrNoRole)
	}
	sealed, name, err := keys.sealSecret(ctx, key.ID, key.Secret)
	if err != nil {
		return TaskKey{}, err
	}
	key.Token = taskrole.EncodeSecurityToken(sealed, name)
	if s.OnRetrieval != nil {
		s.OnRetrieval(Retrieval{HostID: hostID, TaskID: taskID, Cluster: task.Cluster, Secrets: []string{"an access key of the role " + role.Name}})
	}
	return key, nil
}
