package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const binary = "bin/pinion"

// host is a `pinion up` with a scratch data directory and eight simulated GPUs.
type host struct {
	dir  string
	cmd  *exec.Cmd
	http *http.Client
}

func startHost() (*host, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-")
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir}
	h.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, "pinion.sock"))
	}}}
	if err := h.start(); err != nil {
		h.down()
		return nil, err
	}
	return h, nil
}

// start runs `pinion up` until it says that it is ready.
func (h *host) start() error {
	h.cmd = exec.Command(binary, "--data-dir", h.dir, "up", "--listen", "127.0.0.1:0", "--gpus", "sim:8xh100")
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Pinion is ready") {
			go io.Copy(io.Discard, out)
			return nil
		}
	}
	return fmt.Errorf("pinion up ended before it was ready")
}

// down stops the host and takes away everything it made.
func (h *host) down() {
	down := exec.Command(binary, "--data-dir", h.dir, "down", "--purge")
	down.Stderr = os.Stderr
	down.Run()
	h.cmd.Wait()
}

// call makes one request at the plain door and decodes the answer into out.
func (h *host) call(operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	response, err := h.http.Post("http://pinion/v1/"+operation, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %s", operation, response.Status, raw)
	}
	return json.Unmarshal(raw, out)
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

func (t task) id() string { return t.ARN[strings.LastIndex(t.ARN, "/")+1:] }

// run starts one task of the family.
func (h *host) run(family string) (task, error) {
	var answer tasks
	if err := h.call("RunTask", object{"taskDefinition": family}, &answer); err != nil {
		return task{}, err
	}
	if len(answer.Tasks) != 1 {
		return task{}, fmt.Errorf("RunTask %s: %v", family, answer.Failures)
	}
	return answer.Tasks[0], nil
}

// wait asks until the task has the status, or is STOPPED.
func (h *host) wait(t task, status string) (task, error) {
	for {
		var answer tasks
		if err := h.call("DescribeTasks", object{"tasks": []string{t.id()}}, &answer); err != nil {
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

func (h *host) stop(t task) error {
	if err := h.call("StopTask", object{"task": t.id()}, &struct{}{}); err != nil {
		return err
	}
	_, err := h.wait(t, "STOPPED")
	return err
}
