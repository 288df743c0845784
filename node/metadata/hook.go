package metadata

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/time/rate"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// Hooks are the hooks of a task: none in the network mode none, in which a container reaches nothing.
func (s *Service) Hooks(a spec.Assignment) []task.Hook {
	if a.Definition.NetworkMode == runtime.NetworkNone {
		return nil
	}
	h := &hook{service: s, task: a.Task, mode: cmp.Or(a.Definition.NetworkMode, runtime.NetworkBridge)}
	// On the network of the host whoever has a raw socket there reads what its containers are told: keys are not told there.
	if arn, id := a.Task.Overrides.Get().Role(a.Definition); id != "" && !h.onHost() {
		h.role = iam.RoleName(arn)
	}
	for i := range a.Definition.Containers {
		h.containers = append(h.containers, runtime.ContainerID(a.Task.ID, a.Definition.Containers[i].Name))
	}
	return []task.Hook{h}
}

// hook has the containers of one task served.
type hook struct {
	service    *Service
	task       *spec.Task
	mode       string   // of the network
	role       string   // of the pool; empty: none
	containers []string // ids
}

var (
	_ task.SpecHook     = (*hook)(nil)
	_ task.ReattachHook = (*hook)(nil)
	_ task.PoststopHook = (*hook)(nil)
)

func (*hook) Name() string { return "task metadata" }

// onHost reports whether the containers are on the network of the host.
func (h *hook) onHost() bool { return h.mode == runtime.NetworkHost }

// BuildSpec opens the endpoint and tells the container where it is. On the network of the host another program may have the address, and then the
// container has no endpoint, and the log of the host says so.
func (h *hook) BuildSpec(s *task.Start) error {
	namespace := s.Spec.Network
	if namespace == runtime.NetworkNone {
		return nil
	}
	if h.onHost() {
		namespace = ""
	}
	id, err := h.open(namespace, s.Dir, s.Container, s.Address)
	if err != nil && h.onHost() {
		h.service.config.Log.Warn("a container has no task metadata endpoint", "container", s.Spec.ID, "error", err)
		return nil
	}
	if err != nil {
		return &task.StartError{Kind: "ContainerNetworkingError", Container: s.Container, Err: err}
	}
	for name, path := range map[string]string{"ECS_CONTAINER_METADATA_URI": "/v3/", "ECS_CONTAINER_METADATA_URI_V4": "/v4/", "ECS_AGENT_URI": "/api/"} {
		s.SetEnv(name, "http://"+hostPort+path+id)
	}
	setUnlessThere(s, "AWS_EXECUTION_ENV", "AWS_ECS_EC2")
	if h.role != "" {
		h.setCredentials(s, id)
	}
	return nil
}

// setCredentials tells the SDKs in a container where they get the access key of the task, and where the pool is. It is the whole address, which they take
// for 169.254.170.2, as the port is not 80.
func (h *hook) setCredentials(s *task.Start, id string) {
	s.SetEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+hostPort+"/v2/credentials/"+id)
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		setUnlessThere(s, name, h.service.config.Region)
	}
	for _, name := range endpointVariables {
		setUnlessThere(s, name, "http://"+hostPort)
	}
}

// open has a container served in a namespace, and returns the id in its addresses.
func (h *hook) open(namespace, dir string, of *task.Container, ip string) (id string, err error) {
	if id, err = idOf(dir); err != nil {
		return "", err
	}
	c := &container{id: id, of: of, service: h.service, address: ip, requests: newLimiter(), changes: rate.NewLimiter(1, 10), taskID: h.task.ID, role: h.role}
	c.taskARN = h.service.arn("task/" + h.task.Cluster + "/" + h.task.ID)
	return id, h.service.serve(namespace, c, of.ID)
}

// Reattach opens the endpoint of a container that runs already.
func (h *hook) Reattach(ctx context.Context, c *task.Container) {
	if c.Def.HasNoNetwork() {
		return
	}
	var attachment runtime.Attachment
	var err error
	if !h.onHost() {
		attachment, err = h.service.config.Network.Attach(ctx, runtime.ToAttach(h.mode, h.task.ID, c.ID, runtime.IDRange{}, c.Def.PortMappings))
	}
	if err == nil {
		_, err = h.open(attachment.Namespace, task.DirOf(c), c, attachment.Address)
	}
	if err != nil {
		h.service.config.Log.Warn("a running container has no task metadata endpoint any more", "container", c.ID, "error", err)
	}
}

// Poststop ends the service of the containers.
func (h *hook) Poststop(context.Context) error {
	for _, id := range h.containers {
		h.service.end(id)
	}
	return nil
}

// setUnlessThere sets a variable that the definition does not set itself.
func setUnlessThere(s *task.Start, name, value string) {
	for _, known := range s.Spec.Env {
		if strings.HasPrefix(known, name+"=") {
			return
		}
	}
	s.SetEnv(name, value)
}
