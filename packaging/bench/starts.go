package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"golang.org/x/sys/unix"
)

// measureStarts times a task from RunTask's acceptance to its container's start, and in turns with it the same create
// and start made straight on the same containerd: same image, same spec, same logger.
func measureStarts(h *host, repeats int, r *results) error {
	if err := h.define("start"); err != nil {
		return err
	}
	bare, err := containerd.New(filepath.Join(h.dir, "containerd", "containerd.sock"))
	if err != nil {
		return err
	}
	defer bare.Close()
	ctx := namespaces.WithNamespace(context.Background(), "pinion")
	var ours, reference []time.Duration
	for n := range repeats + 1 {
		t, took, err := startTask(h)
		if err != nil {
			return err
		}
		model, err := modelOf(ctx, bare, t.id())
		if err != nil {
			return err
		}
		straight, err := startBare(ctx, h, bare, model, fmt.Sprintf("bench-%d", n))
		if err != nil {
			return err
		}
		if err := h.stop(t); err != nil {
			return err
		}
		if n > 0 { // the first one unpacks the image
			ours, reference = append(ours, took), append(reference, straight)
		}
	}
	return r.add("Host/start", repeats, append(percentiles("", ours), percentiles("containerd-", reference)...)...)
}

// model is the part of a task of ours that the bare start copies.
type model struct {
	image string
	spec  *oci.Spec
}

// startTask starts one task and returns how long that took, from acceptance to start.
func startTask(h *host) (task, time.Duration, error) {
	t, err := h.run("start")
	if err != nil {
		return task{}, 0, err
	}
	if t, err = h.wait(t, "RUNNING"); err != nil {
		return task{}, 0, err
	}
	if t.StartedAt == 0 {
		return task{}, 0, fmt.Errorf("task %s did not start", t.id())
	}
	return t, time.Duration((t.StartedAt - t.CreatedAt) * float64(time.Second)), nil
}

// modelOf finds the container of a running task; what its spec mounts is there as long as the task is.
func modelOf(ctx context.Context, bare *containerd.Client, task string) (model, error) {
	containers, err := bare.Containers(ctx)
	if err != nil {
		return model{}, err
	}
	for _, c := range containers {
		if !strings.Contains(c.ID(), task) {
			continue
		}
		info, err := c.Info(ctx)
		if err != nil {
			return model{}, err
		}
		spec, err := c.Spec(ctx)
		return model{image: info.Image, spec: spec}, err
	}
	return model{}, fmt.Errorf("no container of task %s in containerd", task)
}

// startBare makes and starts the model's container and returns how long that took; the container is taken away again.
func startBare(ctx context.Context, h *host, bare *containerd.Client, m model, id string) (time.Duration, error) {
	m.spec.Linux.CgroupsPath = "/pinion-bench/" + id
	logger, err := loggerURI(h, id)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	image, err := bare.GetImage(ctx, m.image)
	if err != nil {
		return 0, fmt.Errorf("image %s: %w", m.image, err)
	}
	container, err := bare.NewContainer(ctx, id, containerd.WithImage(image), containerd.WithNewSnapshot(id, image), containerd.WithSpec(m.spec))
	if err != nil {
		return 0, err
	}
	defer container.Delete(ctx, containerd.WithSnapshotCleanup)
	task, err := container.NewTask(ctx, cio.LogURI(logger))
	if err != nil {
		return 0, err
	}
	defer task.Delete(ctx, containerd.WithProcessKill)
	if err := task.Start(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	return took, task.Kill(ctx, unix.SIGKILL)
}

// loggerURI names the logger that our tasks have, writing to a file of the bench.
func loggerURI(h *host, id string) (*url.URL, error) {
	loggers, err := filepath.Glob(filepath.Join(h.dir, "bundle", "*", "pinion-logger"))
	if err != nil || len(loggers) != 1 {
		return nil, fmt.Errorf("looking for pinion-logger: found %v, %w", loggers, err)
	}
	file := url.Values{"-file": {filepath.Join(h.dir, "bench-logs", id)}}
	return &url.URL{Scheme: "binary", Path: loggers[0], RawQuery: file.Encode()}, nil
}
