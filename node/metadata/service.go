package metadata

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// Config has the dependencies of a host's endpoints.
type Config struct {
	Region string
	// Zone is the availability zone of the host; empty: it has none.
	Zone string
	// Network finds the namespaces of containers that were there when Pinion started.
	Network runtime.Network
	// Usage measures a running container.
	Usage func(ctx context.Context, containerID string) (runtime.Usage, error)
	// Protection is until when a task of this host is protected from its service, after it was set if until is not nil; zero: it is not. refusal is ECS's
	// reason for a task that cannot be protected.
	Protection func(ctx context.Context, taskID string, until *time.Time) (protected time.Time, refusal string, err error)
	// Credentials makes an access key of a task of this host that has a role of the pool.
	Credentials func(ctx context.Context, taskID string) (Credentials, error)
	// TaskSubnet is the subnet of the tasks of this host that have an address of their own, empty while there is none; nil: there never is.
	TaskSubnet func() string
	// HostTags are the tags that the pool has of this host; nil: containers are told of none.
	HostTags func(ctx context.Context) ([]spec.Tag, error)
	Log      *slog.Logger
}

// Service has the endpoints of a host.
type Service struct {
	config Config
	api    atomic.Pointer[http.Handler] // of the pool; nil until HandleAPI

	samples  samples
	hostTags hostTags

	mu        sync.Mutex
	endpoints map[string]*endpoint       // by the path of their network namespace; that of the host by ""
	serves    map[string]endpointAddress // by the container's id
}

// endpointAddress is the endpoint that serves a container.
type endpointAddress struct{ namespace, id, address string }

// New makes the service of a host, which opens an endpoint with the first container that needs it.
func New(c Config) *Service {
	return &Service{config: c, endpoints: map[string]*endpoint{}, serves: map[string]endpointAddress{}}
}

// Close ends all endpoints. Containers that run on are served again by the next process.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for namespace := range s.endpoints {
		s.closeEndpoint(namespace)
	}
	return nil
}

// serve has the endpoint of a network namespace serve a container.
func (s *Service) serve(namespace string, c *container, containerID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.endpoints[namespace]
	if e == nil {
		var err error
		if e, err = open(namespace, s); err != nil {
			return err
		}
		s.endpoints[namespace] = e
	}
	e.add(c)
	s.serves[containerID] = endpointAddress{namespace, c.id, c.address}
	return nil
}

// end ends the service of a container, and its endpoint with the last one.
func (s *Service) end(containerID string) {
	s.samples.forget(containerID)
	s.mu.Lock()
	defer s.mu.Unlock()
	where, known := s.serves[containerID]
	if !known {
		return
	}
	delete(s.serves, containerID)
	if e := s.endpoints[where.namespace]; e != nil && e.remove(where.id) {
		s.closeEndpoint(where.namespace)
	}
}

func (s *Service) closeEndpoint(namespace string) {
	s.endpoints[namespace].close()
	delete(s.endpoints, namespace)
	if namespace != "" {
		return // the address goes with its namespace
	}
	if err := removeAddress(); err != nil {
		s.config.Log.Warn("the address of the task metadata endpoint stays on this host", "address", address, "error", err)
	}
}

func (s *Service) addressOf(containerID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serves[containerID].address
}

// arn is the ARN of a resource of ECS.
func (s *Service) arn(resource string) string {
	return "arn:aws:ecs:" + s.config.Region + ":" + spec.AccountID + ":" + resource
}

// zone is never empty: some programs cannot do without.
func (s *Service) zone() string { return cmp.Or(s.config.Zone, s.config.Region+"a") }

// nameOfService is the name of the service of a task.
func (s *Service) nameOfService(t *spec.Task) string {
	_, name, _ := strings.Cut(t.Group, ":")
	return name
}

// logOptions are the options of a container's logs, of awslogs with its stream, which programs find their logs by.
func (s *Service) logOptions(taskID string, def *spec.ContainerDefinition) map[string]string {
	options := maps.Clone(def.LogConfiguration.Options)
	if group, prefix := def.LogConfiguration.Awslogs(); group != "" {
		options["awslogs-region"] = cmp.Or(options["awslogs-region"], s.config.Region)
		options["awslogs-stream"] = strings.TrimPrefix(prefix+"/"+def.Name+"/"+taskID, "/")
	}
	return options
}

// idFile has the id in the addresses of a container, in its directory: it stays the same when Pinion starts anew.
const idFile = "metadata-id"

// idOf is the id of a container, which is made when there is none yet.
func idOf(dir string) (string, error) {
	path := filepath.Join(dir, idFile)
	if known, err := os.ReadFile(path); err == nil && len(known) == 2*idSize {
		return string(known), nil
	}
	raw := make([]byte, idSize)
	rand.Read(raw)
	id := hex.EncodeToString(raw)
	if err := os.WriteFile(path, []byte(id), 0o600); err != nil {
		return "", fmt.Errorf("note the id of the task metadata endpoint: %w", err)
	}
	return id, nil
}

// idSize is the size of an id in bytes.
const idSize = 16
