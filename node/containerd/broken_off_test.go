package containerd_test

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bootstrap "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"google.golang.org/protobuf/proto"

	"pinion/packaging/backoff"
)

var brokenOff = flag.Int("broken-off", 20, "how many starts are broken off at a random moment, as by the end of Pinion's process, and made again")

const (
	// brokenOffAtOnce is the number of concurrent starts: the more, the longer each takes.
	brokenOffAtOnce = 16
	// nextPinion is the least time until a new process of Pinion starts anything.
	nextPinion = 200 * time.Millisecond
)

// A Pinion that is killed at any moment of a start leaves nothing that keeps the next one from removing the container and from
// starting it again.
func TestAStartThatIsBrokenOffAnywhereIsMadeAgain(t *testing.T) {
	h := newHost(t).withBusybox()
	var running sync.WaitGroup
	work := make(chan int)
	for range brokenOffAtOnce {
		running.Go(func() {
			for range work {
				breakOff(t, h)
			}
		})
	}
	for n := 0; n < *brokenOff && !t.Failed(); n++ {
		work <- n
	}
	close(work)
	running.Wait()
}

func breakOff(t *testing.T, h *host) {
	c, after := h.task(sh("exit 7")), rand.N(100*time.Millisecond)
	ctx, cancel := context.WithTimeout(h.ctx(), after)
	_ = h.runtime.BreakOff(ctx, c)
	cancel()
	must(t, backoff.Sleep(h.ctx(), nextPinion+rand.N(time.Second)))
	ctx, cancel = context.WithTimeout(h.ctx(), time.Minute)
	defer cancel()
	if err := h.runtime.Remove(ctx, c.ID); err != nil {
		t.Errorf("broken off after %v, it is not removed: %v", after, err)
		return
	}
	if err := h.runtime.Start(ctx, c); err != nil {
		t.Errorf("broken off after %v, it does not start again: %v", after, err)
		return
	}
	if exit, err := h.runtime.Wait(ctx, c.ID); err != nil || exit.Code != 7 {
		t.Errorf("broken off after %v, it ends with %+v, %v", after, exit, err)
	}
	if err := h.runtime.Remove(ctx, c.ID); err != nil {
		t.Error(err)
	}
}

// A shim that containerd has forgotten waits for a reader of its log, with the socket of the container's next shim.
func TestAForgottenShimDoesNotKeepItsContainerFromStarting(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.task(sh("exit 7"))
	bundle := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bundle, "config.json"), []byte("{}"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(bundle, "log"), 0o600))
	forget := exec.Command(h.tools.Shim, "-namespace", h.config.Namespace, "-id", c.ID, "-address", h.address(), "start")
	params, err := proto.Marshal(&bootstrap.BootstrapParams{InstanceID: c.ID, Namespace: h.config.Namespace, ContainerdGrpcAddress: h.address()})
	must(t, err)
	forget.Dir, forget.Stdin = bundle, bytes.NewReader(params)
	if out, err := forget.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(h.ctx(), time.Minute)
	defer cancel()
	must(t, h.runtime.Start(ctx, c))
	if exit := h.wait(c); exit.Code != 7 {
		t.Errorf("exit code %d", exit.Code)
	}
	if !strings.Contains(h.log.String(), "a shim that an earlier start has left") {
		t.Error("there was no such shim")
	}
}
