package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	apiclient "pinion/api/client"
)

// callTimeout bounds one request, longer than any answer takes.
const callTimeout = 15 * time.Second

// client talks to the host whose data directory it is, through its unix socket.
type client struct {
	dir string
	api *apiclient.Client
}

// newClient is root of the host: an admin on a server, and one that may only look on an agent.
func newClient(dir string) (*client, error) { return newClientWithKey(dir, apiclient.CreatedKey{}) }

// newClientWithKey has the rights of an access key at every host.
func newClientWithKey(dir string, key apiclient.CreatedKey) (*client, error) {
	api, err := apiclient.New(apiclient.Config{Socket: filepath.Join(dir, "pinion.sock"), KeyID: key.ID, Secret: key.Secret})
	return &client{dir, api}, err
}

// call makes one request and decodes the answer into out.
func (c *client) call(operation string, in, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return c.api.Call(ctx, operation, in, out)
}

// timedCall makes one request, and tells how long it took until the answer was there whole, to be decoded.
func (c *client) timedCall(operation string, in any) (raw []byte, took time.Duration, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	begin := time.Now()
	reply, err := c.api.Send(ctx, operation, "application/json", body)
	return reply.Body, time.Since(begin), err
}

// hosts are the hosts of a cluster.
func (c *client) hosts(cluster string) (all []apiclient.Host, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err = c.api.Get(ctx, "/v1/hosts", url.Values{"cluster": {cluster}}, &all)
	return all, err
}

// isFinal reports whether asking again is no use: the host has understood, and refuses.
func isFinal(err error) bool {
	refused, ok := errors.AsType[*apiclient.APIError](err)
	return ok && refused.Status < http.StatusInternalServerError
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
