package api

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

	"pinion/api/cloudwatch"
	"pinion/api/sigv4"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// logsDoor answers an operation of CloudWatch Logs. They only read: whoever may read a task may read its log.
func (d *door) logsDoor(w http.ResponseWriter, r *http.Request, body []byte, name string) error {
	recorderOf(w).operation = cloudwatch.Service + ":" + name
	who, err := d.admit(w, r, body, d.reach)
	if err != nil {
		return err
	}
	operation, err := cloudwatch.Find(name)
	if err != nil {
		return err
	}
	if err := who.may(spec.RoleRead); err != nil {
		return err
	}
	if body, err = decompress(r, body); err != nil {
		return err
	}
	leave, free := d.Limits.logReads.tryAcquire()
	if !free {
		return errThrottled("log requests")
	}
	defer leave()
	ctx, cancel := d.untilClosing(r.Context())
	defer cancel()
	call := &cloudwatch.Request{Region: who.region, Cluster: string(who.bound), View: who.view, Logs: taskLogs{d, who.view}}
	answer, err := operation.Run(ctx, call, body)
	leave() // from now on it is the client's pace that counts
	if err != nil {
		return err
	}
	warn(w, call.Warnings)
	d.reply(w, r, typeAWS, http.StatusOK, answer)
	return nil
}

// verifier checks the signature of a request: it is for the service that the request's target belongs to.
func (d *door) verifier(r *http.Request) sigv4.Verifier {
	service := "ecs"
	if isCloudWatchLogs(r) {
		service = cloudwatch.Service
	}
	return sigv4.Verifier{Service: service, Now: d.Now, Signers: &d.Limits.signers}
}

// isCloudWatchLogs reports whether a request is for an operation of CloudWatch Logs.
func isCloudWatchLogs(r *http.Request) bool {
	service, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return service == cloudwatch.Target
}

// taskLogs reads the logs of tasks that a caller has been checked for: here, or at the hosts of the tasks.
type taskLogs struct {
	door *door
	view *raftfsm.View
}

var _ cloudwatch.Logs = taskLogs{}

// Read is cloudwatch.Logs.
func (l taskLogs) Read(ctx context.Context, task *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error {
	if l.door.Forward == nil || task.HostID == l.door.HostID {
		return l.door.TaskHost.Logs(ctx, q, emit)
	}
	host := l.view.Host(task.HostID)
	if host == nil {
		return errors.New("its host was removed, and its logs with it")
	}
	answer, end, err := l.door.askLogs(ctx, host.Address, q)
	defer end()
	if err != nil {
		return fmt.Errorf("host %s cannot be reached at %s: %w", host.Name, host.Address, err)
	}
	defer answer.Body.Close()
	return readLines(host.Name, answer, emit)
}

// askLogs asks another host what the plain door answers there, with this host's word for the caller.
func (d *door) askLogs(ctx context.Context, address string, q spec.LogQuery) (*http.Response, context.CancelFunc, error) {
	query := url.Values{"container": {q.Container}}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Tail > 0 {
		query.Set("tail", strconv.Itoa(q.Tail))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/tasks/"+q.Task+"/logs?"+query.Encode(), nil)
	if err != nil {
		return nil, func() {}, err
	}
	r.Host = address
	return d.ask(r, address, http.Header{authorizedByHeader: {d.HostID}, "User-Agent": {""}}, nil)
}

// readLines calls emit for each line in a host's answer.
func readLines(host string, answer *http.Response, emit func(spec.LogLine) error) error {
	lines := json.NewDecoder(answer.Body)
	if answer.StatusCode != http.StatusOK {
		refusal := wire.Error{Type: answer.Status}
		_ = lines.Decode(&refusal)
		return fmt.Errorf("host %s answered %w", host, &refusal)
	}
	for {
		var line spec.LogLine
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
