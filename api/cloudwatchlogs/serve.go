package cloudwatchlogs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// maxReads is how many requests read logs at once; each holds some MiB of lines.
	maxReads = 64
	// maxReadsPerAddress is how many of them are of one client: who has a task on a host in wrong hands could hold them all.
	maxReadsPerAddress = 16
	// maxReadsPerTask is how many of them one task has that asks by the key of its role.
	maxReadsPerTask = 4
	// maxRead is how long another host may take to tell a log. Clients of AWS give up then, and a slot is held no longer by a host that
	// never ends, or says nothing.
	maxRead = time.Minute
)

// NewReads returns the slots of the requests that read logs, for all listeners of one process.
func NewReads() *httpx.AddressSemaphore {
	return &httpx.AddressSemaphore{Size: maxReads, PerAddress: maxReadsPerAddress, PerTask: maxReadsPerTask}
}

// IsTarget reports whether the X-Amz-Target of a request names an operation of CloudWatch Logs.
func IsTarget(r *http.Request) bool {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return service == Target
}

// Handler serves the operations. It is safe for concurrent use.
type Handler struct {
	Host  HostLogs // of this host
	Peers *httpx.Peers
	Reads *httpx.AddressSemaphore
	Store Store
	Ended Ended // nil: tasks that the state has forgotten are not known
	Now   func() time.Time
}

// HostLogs reads the logs of the tasks of this host.
type HostLogs interface {
	// Logs calls emit for each line that the query asks for, oldest first.
	Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error
}

// Serve answers an operation for a principal that may call it.
func (h *Handler) Serve(x *httpx.Exchange, res leader.Resolution, operation Operation) error {
	release, free := h.slot(x, res)
	if !free {
		return httpx.ErrThrottled("log requests")
	}
	defer release()
	ctx, cancel := h.Peers.Stop.Context(x.Context())
	defer cancel()
	request := &Request{Store: h.Store, Now: h.Now, Region: res.Principal.Region, KeyClusters: res.Principal.Clusters, Grant: res.Principal.Grant, Ended: h.Ended, Sees: res.Principal.Sees, View: res.View, Logs: taskLogs{h, res.View}}
	output, err := operation.Run(ctx, request, x.Body)
	release() // from now on the client sets the pace
	if err != nil {
		return err
	}
	x.Warn(request.Warnings)
	x.Reply(http.StatusOK, output)
	return nil
}

// slot takes a slot for a request: of the task that asks, wherever its host has its requests come from, or else of the client.
func (h *Handler) slot(x *httpx.Exchange, res leader.Resolution) (release func(), free bool) {
	if task := res.View.Task(res.Principal.Task); task != nil {
		return h.Reads.TryAcquireTask(task.HostID, task.ID)
	}
	return h.Reads.TryAcquire(x.LimitAddress())
}

// taskLogs reads the logs of tasks that the principal was authorized for: here, or at the hosts of the tasks.
type taskLogs struct {
	handler *Handler
	view    *raftfsm.View
}

var _ Logs = taskLogs{}

// Read is Logs.
func (l taskLogs) Read(ctx context.Context, task *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error {
	peers := l.handler.Peers
	if peers.Transport == nil || task.HostID == peers.HostID {
		return l.handler.Host.Logs(ctx, q, emit)
	}
	host := l.view.Host(task.HostID)
	if host == nil {
		return errors.New("its host was removed, and its logs with it")
	}
	response, end, err := askLogs(ctx, peers, host.Address, q)
	defer end()
	if err != nil {
		return fmt.Errorf("host %s cannot be reached at %s: %w", host.Name, host.Address, err)
	}
	defer response.Body.Close()
	return readLines(host.Name, response, emit)
}

// askLogs asks another host for GET /v1/tasks/{id}/logs, authorized by this one. All of the answer has to come within maxRead.
func askLogs(ctx context.Context, peers *httpx.Peers, address string, q spec.LogQuery) (*http.Response, context.CancelFunc, error) {
	query := url.Values{"container": {q.Container}}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Tail > 0 {
		query.Set("tail", strconv.Itoa(q.Tail))
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/tasks/"+q.Task+"/logs?"+query.Encode(), nil)
	if err != nil {
		return nil, cancel, err
	}
	r.Host = address
	response, end, err := peers.RoundTrip(r, address, http.Header{httpx.HeaderAuthorizedBy: {peers.HostID}, "User-Agent": {""}}, nil)
	return response, func() { end(); cancel() }, err
}

// maxLineBytes bounds one line as a host sends it: its log has far shorter ones, and the host may be in the wrong hands.
const maxLineBytes = 4 << 20

// lineLimit fails when more is read than is left for the present line.
type lineLimit struct {
	io.Reader
	left int
}

func (l *lineLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("a line has more than %d bytes", maxLineBytes)
	}
	n, err := l.Reader.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// readLines calls emit for each line in a host's response.
func readLines(host string, response *http.Response, emit func(spec.LogLine) error) error {
	limit := &lineLimit{response.Body, maxLineBytes}
	lines := json.NewDecoder(limit)
	if response.StatusCode != http.StatusOK {
		refusal := wire.Error{Type: response.Status}
		_ = lines.Decode(&refusal)
		return fmt.Errorf("host %s answered %w", host, &refusal)
	}
	for {
		var line spec.LogLine
		limit.left = maxLineBytes
		err := lines.Decode(&line)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the log broke off at host %s: %w", host, err)
		}
		if err := emit(line); err != nil {
			return err
		}
	}
}
