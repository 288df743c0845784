package metadata

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Credentials are an access key of a task, with the names of ECS.
type Credentials struct {
	RoleARN         string `json:"RoleArn"`
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string
	Expiration      time.Time
}

// keptCredentials is the time for which a container gets the same credentials: however many of its processes ask, the leader is asked once.
const keptCredentials = time.Minute

// key is the access key of a container.
type key struct {
	mu      sync.Mutex // held while the leader is asked
	made    time.Time
	current Credentials
}

// get is the access key, made anew when the one that is known was made keptCredentials ago.
func (k *key) get(ask func() (Credentials, error)) (Credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.made) < keptCredentials {
		return k.current, nil
	}
	fresh, err := ask()
	if err == nil {
		k.current, k.made = fresh, time.Now()
	}
	return fresh, err
}

// credentialsError is a refusal in the form of ECS's agent.
type credentialsError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"HTTPErrorCode"`
}

// credentials answers with the access key that the task has by its role.
func (c *container) credentials(w http.ResponseWriter, r *http.Request) {
	if c.role == "" {
		refuseCredentials(w, http.StatusNotFound, "NoIdInRequest", "the task has no role")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	made, err := c.key.get(func() (Credentials, error) { return c.service.config.Credentials(ctx, c.taskID) })
	if err != nil {
		c.service.config.Log.Warn("a task gets no access key by its role", "task", c.taskID, "role", c.role, "error", err)
		refuseCredentials(w, http.StatusInternalServerError, "InternalServerError", "the pool gives no access key: its role "+c.role+" may have been removed, or the pool does not answer; the log of the task's host has the reason")
		return
	}
	reply(w, http.StatusOK, made)
}

func refuseCredentials(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, credentialsError{code, message, status})
}

// endpointVariables say to SDKs where the services are that a pool has; those of AWS stay where they are.
var endpointVariables = []string{
	"AWS_ENDPOINT_URL_ECS", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", "AWS_ENDPOINT_URL_CLOUDWATCH", "AWS_ENDPOINT_URL_APPLICATION_AUTO_SCALING",
	"AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2", "AWS_ENDPOINT_URL_SECRETS_MANAGER", "AWS_ENDPOINT_URL_SSM", "AWS_ENDPOINT_URL_STS",
}

// HandleAPI has containers reach the pool's API at their endpoints: the access keys of their roles work there without another address, a route or a CA.
// It is called once, before the first container asks.
func (s *Service) HandleAPI(api http.Handler) { s.api.Store(&api) }

// serveAPI passes a request with credentials to the pool's API, as from the container's own address. Any other is about no container.
func (s *Service) serveAPI(w http.ResponseWriter, r *http.Request, e *endpoint, otherwise http.HandlerFunc) {
	api := s.api.Load()
	if api == nil || r.Header.Get("Authorization") == "" {
		otherwise(w, r)
		return
	}
	if !e.api.take(e.maxAPI) {
		w.Header().Set("Connection", "close")
		reply(w, http.StatusTooManyRequests, "too many requests at once: on the network of the host use the port of the pool's API")
		return
	}
	defer e.api.release()
	defer answering(r)()
	address := e.address()
	deadlines := http.NewResponseController(w)
	setDeadlines := func(at time.Time) { _ = errors.Join(deadlines.SetReadDeadline(at), deadlines.SetWriteDeadline(at)) } // a recorder of a test has none
	setDeadlines(time.Time{})                                                                                             // the API has its own, and streams
	defer func() { setDeadlines(time.Now().Add(ioTimeout)) }()                                                            // what it has not read is read when it has answered
	if address != "" {
		r.RemoteAddr = address + ":0"
	}
	(*api).ServeHTTP(w, r)
}
