package metadata

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// Limits of a container's requests, as of ECS: so many a second, and so many at once.
	requestRate  = 40
	requestBurst = 60
	// Bounds on one request.
	ioTimeout = 5 * time.Second
	maxHeader = 8 << 10
	maxBody   = 1 << 10
	maxIdle   = 10 * time.Second
	// Connections of one endpoint: of a container, and of all containers on the network of the host.
	maxClients, maxClientsOnHost = 32, 512
	// maxAtOnce bounds the requests of one container that are answered at once, maxAPIOnHost those to the pool's API on the network of the host,
	// where the container is not known.
	maxAtOnce, maxAPIOnHost = 32, 128
)

// endpoint is the server in one network namespace, for the containers in it.
type endpoint struct {
	server  *http.Server
	unknown *rate.Limiter // requests with an id that is no container's
	api     slots         // requests of the pool's API
	maxAPI  int64         // of these at once

	mu         sync.RWMutex
	containers map[string]*container // by the id in their addresses
}

// open begins to serve a namespace; the host's when the path is empty.
func open(namespace string, s *Service) (*endpoint, error) {
	listener, err := listen(namespace)
	if err != nil {
		return nil, err
	}
	e := &endpoint{unknown: newLimiter(), maxAPI: maxClients, containers: map[string]*container{}}
	most := maxClients
	if namespace == "" {
		most, e.maxAPI = maxClientsOnHost, maxAPIOnHost
	}
	mux := http.NewServeMux()
	for _, version := range []string{"/v3/", "/v4/"} {
		mux.HandleFunc("GET "+version+"{id}", e.of((*container).metadata))
		mux.HandleFunc("GET "+version+"{id}/task", e.of((*container).taskMetadata))
		mux.HandleFunc("GET "+version+"{id}/taskWithTags", e.of((*container).taskWithTags))
		mux.HandleFunc("GET "+version+"{id}/stats", e.of((*container).statistics))
		mux.HandleFunc("GET "+version+"{id}/task/stats", e.of((*container).taskStatistics))
	}
	mux.HandleFunc("GET /api/{id}/task-protection/v1/state", e.of((*container).protection))
	mux.HandleFunc("PUT /api/{id}/task-protection/v1/state", e.of((*container).protect))
	mux.HandleFunc("GET /v2/credentials/{id}", e.of((*container).credentials))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, e, e.of(nil)) }) // without an id it is about no container
	e.server = &http.Server{
		Handler: mux, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, IdleTimeout: maxIdle, MaxHeaderBytes: maxHeader,
		ConnContext: withClient, ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	go e.server.Serve(newClients(listener, most)) // until close
	return e, nil
}

func (e *endpoint) close() { e.server.Close() }

// add has the endpoint serve a container, in place of an earlier one of its id.
func (e *endpoint) add(c *container) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.containers[c.id] = c
}

// remove ends that, and reports whether the endpoint serves nobody any more.
func (e *endpoint) remove(id string) (unused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.containers, id)
	return len(e.containers) == 0
}

// address is the address that the containers in the namespace share; empty when the namespace is the host's.
func (e *endpoint) address() string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, c := range e.containers {
		return c.address
	}
	return ""
}

// of is the handler of a request about the container whose id is in the path, which may not ask more often than requestRate.
func (e *endpoint) of(serve func(*container, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e.mu.RLock()
		c := e.containers[r.PathValue("id")]
		e.mu.RUnlock()
		requests := e.unknown
		if c != nil {
			requests = c.requests
		}
		switch {
		case !requests.Allow():
			w.Header().Set("Connection", "close")
			reply(w, http.StatusTooManyRequests, "too many requests")
		case c == nil:
			w.Header().Set("Connection", "close")
			reply(w, http.StatusNotFound, "unable to get the container of this address: the pool's host knows no such id")
		case !c.atOnce.take(maxAtOnce):
			w.Header().Set("Connection", "close")
			reply(w, http.StatusTooManyRequests, "too many requests at once")
		default:
			defer c.atOnce.release()
			defer answering(r)()
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			serve(c, w, r)
		}
	}
}

// slots bounds the requests that are answered at once.
type slots struct{ held atomic.Int64 }

// take takes one of so many slots, and reports whether one was free.
func (s *slots) take(size int64) bool {
	if s.held.Add(1) <= size {
		return true
	}
	s.held.Add(-1)
	return false
}

func (s *slots) release() { s.held.Add(-1) }

func newLimiter() *rate.Limiter { return rate.NewLimiter(requestRate, requestBurst) }

// reply answers with a JSON document.
func reply(w http.ResponseWriter, status int, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`"the answer cannot be written"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the container may have gone
}
