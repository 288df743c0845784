package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// callTimeout is how long one request may take, longer than any answer.
const callTimeout = 15 * time.Second

// client talks to the host whose data directory it is, through its unix socket. Like boto3 and the AWS CLI it takes answers
// as they are, without gzip.
type client struct {
	dir  string
	http *http.Client
}

func newClient(dir string) *client {
	return &client{dir, &http.Client{Timeout: callTimeout, Transport: &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, "pinion.sock"))
	}}}}
}

// call makes one request at the plain door and decodes the answer into out.
func (c *client) call(operation string, in, out any) error {
	raw, _, err := c.ask(operation, in)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// ask makes one request at the plain door, and tells how long it took until the answer was there whole, to be decoded.
func (c *client) ask(operation string, in any) (raw []byte, took time.Duration, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	response, err := c.http.Post("http://pinion/v1/"+operation, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	raw, err = read(operation, response)
	return raw, time.Since(begin), err
}

// get reads a document of the plain door.
func (c *client) get(path string, out any) error {
	response, err := c.http.Get("http://pinion/v1/" + path)
	if err != nil {
		return err
	}
	return decode(path, response, out)
}

func decode(operation string, response *http.Response, out any) error {
	raw, err := read(operation, response)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// read takes an answer in whole.
func read(operation string, response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = &refusal{operation, response.StatusCode, string(raw)}
	}
	return raw, err
}

// refusal is an answer that is not the one that was asked for.
type refusal struct {
	operation string
	status    int
	text      string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %d %s", r.operation, r.status, r.text) }

// final reports whether asking again is no use: the host has understood, and says no.
func final(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status < 500
}

type object = map[string]any

// tasks is the part of RunTask's, StopTask's and DescribeTasks' answers that the bench looks at.
type tasks struct {
	Tasks    []task `json:"tasks"`
	Failures []any  `json:"failures"`
}

type task struct {
	ARN        string  `json:"taskArn"`
	LastStatus string  `json:"lastStatus"`
	CreatedAt  float64 `json:"createdAt"` // epoch seconds
	StartedAt  float64 `json:"startedAt"`
}

func (t task) id() string { return idOf(t.ARN) }

func idOf(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// run starts one task of the family.
func (c *client) run(family string) (task, error) {
	var answer tasks
	if err := c.call("RunTask", object{"taskDefinition": family}, &answer); err != nil {
		return task{}, err
	}
	if len(answer.Tasks) != 1 {
		return task{}, fmt.Errorf("RunTask %s: %v", family, answer.Failures)
	}
	return answer.Tasks[0], nil
}

// wait asks until the task has the status, or is STOPPED.
func (c *client) wait(t task, status string) (task, error) {
	for {
		var answer tasks
		if err := c.call("DescribeTasks", object{"tasks": []string{t.id()}}, &answer); err != nil {
			return task{}, err
		}
		if len(answer.Tasks) != 1 {
			return task{}, fmt.Errorf("task %s is gone: %v", t.id(), answer.Failures)
		}
		if got := answer.Tasks[0]; got.LastStatus == status || got.LastStatus == "STOPPED" {
			return got, nil
		}
		pause()
	}
}

func (c *client) stop(t task) error {
	if err := c.call("StopTask", object{"task": t.id()}, &struct{}{}); err != nil {
		return err
	}
	_, err := c.wait(t, "STOPPED")
	return err
}

// define registers a one-container family of the built-in image that stays until it is stopped.
func (c *client) define(family string) error {
	return c.call("RegisterTaskDefinition", object{"family": family, "networkMode": "none", "containerDefinitions": []object{{
		"name": "c", "image": "pinion/self", "memory": 64, "stopTimeout": 2,
		"command":              []string{"/pinion", "pause"},
		"resourceRequirements": []object{{"type": "GPU", "value": "1"}},
	}}}, &struct{}{})
}
