package containerd_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"

	"pinion/node/runtime"
)

// BenchmarkStart compares Runtime.Start with the same container made straight on containerd, in turns, so that both
// meet the same machine. "x bare" is the ratio of the medians.
func BenchmarkStart(b *testing.B) {
	h := newHost(b).withBusybox()
	client, err := containerd.New(h.daemon.Address(), containerd.WithDefaultNamespace(h.config.Namespace))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx := namespaces.WithNamespace(b.Context(), h.config.Namespace)
	image, err := client.GetImage(ctx, h.image.Ref)
	if err != nil {
		b.Fatal(err)
	}
	model := h.start(sh("exec sleep 1000"))
	record, err := client.LoadContainer(ctx, model.ID)
	if err != nil {
		b.Fatal(err)
	}
	spec, err := record.Spec(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var ours, bare []time.Duration
	b.Cleanup(func() { // the parent that runc makes for the bare containers
		for _, dir := range cgroupsOf("bare") {
			os.Remove(dir)
		}
	})
	n := 0
	for b.Loop() {
		n++
		ours = append(ours, h.timeStart(b))
		bare = append(bare, timeBareStart(b, ctx, h, client, image, *spec, fmt.Sprintf("bare-%d", n)))
	}
	b.ReportMetric(float64(median(ours).Microseconds())/1000, "ms/start")
	b.ReportMetric(float64(median(bare).Microseconds())/1000, "ms/bare")
	b.ReportMetric(float64(median(ours))/float64(median(bare)), "x-bare")
	b.ReportMetric(float64(slices.Max(ours).Microseconds())/1000, "ms/slowest")
}

// BenchmarkUserNamespace compares starts with a user namespace with those without, in turns.
func BenchmarkUserNamespace(b *testing.B) {
	h := newHost(b).withBusybox()
	var with, without []time.Duration
	for b.Loop() {
		with = append(with, h.timeStart(b, withIDs(someIDs)))
		without = append(without, h.timeStart(b))
	}
	b.ReportMetric(float64(median(with).Microseconds())/1000, "ms/with")
	b.ReportMetric(float64(median(without).Microseconds())/1000, "ms/without")
}

func (h *host) timeStart(b *testing.B, change ...func(*runtime.ContainerSpec)) time.Duration {
	c := h.task(append(change, sh("exec sleep 1000"))...)
	begin := time.Now()
	if err := h.runtime.Start(h.t.Context(), c); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begin)
	if err := h.runtime.Remove(h.t.Context(), c.ID); err != nil {
		b.Fatal(err)
	}
	return took
}

func timeBareStart(b *testing.B, ctx context.Context, h *host, client *containerd.Client, image containerd.Image, spec oci.Spec, id string) time.Duration {
	linux := *spec.Linux
	linux.CgroupsPath = "/pinion/bare/" + id
	spec.Linux = &linux
	logger, err := url.Parse("binary://" + h.tools.Logger + "?-file=" + h.logs.Path("bare", id))
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	container, err := client.NewContainer(ctx, id,
		containerd.WithNewSnapshot(id, image),
		containerd.WithSpec(&spec),
		containerd.WithRuntime("io.containerd.runc.v2", &runcoptions.Options{BinaryName: h.tools.Runc}))
	if err != nil {
		b.Fatal(err)
	}
	task, err := container.NewTask(ctx, cio.LogURI(logger))
	if err != nil {
		b.Fatal(err)
	}
	ended, err := task.Wait(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if err := task.Start(ctx); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begin)
	if err := task.Kill(ctx, syscall.SIGKILL); err != nil && !strings.Contains(err.Error(), "not found") {
		b.Fatal(err)
	}
	<-ended
	if _, err := task.Delete(ctx); err != nil {
		b.Fatal(err)
	}
	if err := container.Delete(ctx, containerd.WithSnapshotCleanup); err != nil {
		b.Fatal(err)
	}
	return took
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
