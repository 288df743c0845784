package call

import (
	"pinion/api/auth"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskrole"
)

// Rights are what the caller may do.
func Rights(r *Request) accesskey.Rights {
	return auth.Principal{Role: r.Role, Clusters: r.KeyClusters, Grant: r.Grant}.Rights()
}

// PassRole is the id of the role of the pool that a taskRoleArn names; empty when the pool has none. A role that may do more than the caller is refused.
func PassRole(r *Request, arn string) (id string, err error) {
	role := taskrole.Find(r.View, iam.RoleName(arn))
	if role == nil {
		return "", nil
	}
	return role.ID, auth.CheckPass(r.Principal, Rights(r), role)
}

// PassRoles is PassRole for a task definition that is to be registered, which notes the role, and warns of what gives a task nothing.
func PassRoles(r *Request, d *spec.TaskDefinition) (err error) {
	if d.ExecutionRoleARN != "" {
		r.Warn("executionRoleArn is kept and shown, but gives a task nothing: hosts pull images and send logs by themselves")
	}
	if d.TaskRoleID, err = PassRole(r, d.TaskRoleARN); d.TaskRoleARN != "" && d.TaskRoleID == "" {
		WarnOfRole(r, d.TaskRoleARN)
	}
	if d.TaskRoleID != "" && d.NetworkMode == "host" {
		r.Warn("taskRoleArn is kept and shown, but gives a task of networkMode host nothing: other tasks on the network of the host could read its keys; use bridge or awsvpc")
	}
	return err
}

// WarnOfRole warns of a role that the pool does not have.
func WarnOfRole(r *Request, arn string) {
	r.Warn("taskRoleArn is kept and shown, but gives a task nothing: the pool has no role %s; make it with `pinion role put`, and register the task definition again", iam.RoleName(arn))
}

// CheckRun refuses to run a task definition whose role may do more than the caller. One that was removed gives nothing.
func CheckRun(r *Request, d *spec.TaskDefinition) error {
	role := taskrole.Find(r.View, iam.RoleName(d.TaskRoleARN))
	if role == nil || role.ID != d.TaskRoleID {
		return nil
	}
	return auth.CheckPass(r.Principal, Rights(r), role)
}
