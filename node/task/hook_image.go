package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// pullReportDelay is the age at which a pull is reported to the pool. An image that is there already is not worth a log
// entry in the middle of a start.
const pullReportDelay = 250 * time.Millisecond

// imageHook pulls the images.
type imageHook struct {
	runner *Runner

	mu    sync.Mutex
	pulls map[string]spec.Pull // under way, by image
}

var _ PrestartHook = (*imageHook)(nil)

func (h *imageHook) Name() string { return "images" }

// Prestart pulls each image once, and again those that the run of the task has resolved to another digest.
func (h *imageHook) Prestart(ctx context.Context, starts []*Start) error {
	h.runner.report.update(func(report *spec.TaskReport) {
		if report.Times.PullStarted.IsZero() {
			report.Times.PullStarted = utcNow()
		}
	})
	delayed := time.AfterFunc(pullReportDelay, func() { h.runner.queueReport() })
	defer delayed.Stop()
	err := h.pullAll(ctx, starts)
	if err == nil {
		starts, err = h.agree(ctx, starts)
	}
	if err == nil {
		err = h.pullAll(ctx, starts)
	}
	h.mu.Lock()
	h.pulls = nil
	h.mu.Unlock()
	if err == nil {
		h.runner.report.update(func(report *spec.TaskReport) {
			if report.Times.PullStopped.IsZero() { // not again when a container is restarted
				report.Times.PullStopped = utcNow()
			}
		})
	}
	return err
}

func (h *imageHook) pullAll(ctx context.Context, starts []*Start) error {
	type source struct{ ref, credentials string }
	bySource := map[source][]*Start{}
	for _, s := range starts {
		from := source{ref: s.Container.image()}
		if c := s.Spec.Def.RepositoryCredentials; c != nil {
			from.credentials = c.CredentialsParameter
		}
		bySource[from] = append(bySource[from], s)
	}
	pulls, ctx := errgroup.WithContext(ctx)
	for from, users := range bySource {
		pulls.Go(func() error {
			ctx, err := h.withLogin(ctx, users[0].Spec.Def)
			if err == nil {
				return h.pull(ctx, from.ref, users)
			}
			return startError(kindCannotPull, users[0].Container, fmt.Errorf("image %s: credentials %s: %w", from.ref, from.credentials, err))
		})
	}
	return pulls.Wait()
}

// withLogin is a context with the credentials of the container's registry, if its definition names some: without them nothing is pulled.
func (h *imageHook) withLogin(ctx context.Context, def *spec.ContainerDefinition) (context.Context, error) {
	if def.RepositoryCredentials == nil {
		return ctx, nil
	}
	for _, hook := range h.runner.hooks {
		if source, ok := hook.(LoginHook); ok {
			login, err := source.RegistryLogin(ctx, def)
			return runtime.WithRegistryLogin(ctx, login), err
		}
	}
	return ctx, errors.New("this host gets no credentials of registries")
}

func (h *imageHook) pull(ctx context.Context, ref string, users []*Start) error {
	image, err := h.runner.config.Images.Pull(ctx, ref, h.record)
	if err != nil && ref != users[0].Spec.Def.Image {
		err = fmt.Errorf("%w; the tasks of a run and their restarts use the digest that %s had at first, unless versionConsistency is disabled", err, users[0].Spec.Def.Image)
	}
	if c := users[0].Spec.Def.RepositoryCredentials; err != nil && c != nil {
		err = fmt.Errorf("%w; the credentials are those of %s", err, c.CredentialsParameter)
	}
	if err != nil {
		return startError(kindCannotPull, users[0].Container, err)
	}
	for _, s := range users {
		s.Spec.Image = image
	}
	return nil
}

// record notes the progress of a pull.
func (h *imageHook) record(p spec.Pull) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pulls == nil {
		h.pulls = map[string]spec.Pull{}
	}
	h.pulls[p.Image] = p
}

// progress lists the pulls under way by image.
func (h *imageHook) progress() []spec.Pull {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []spec.Pull
	for _, image := range slices.Sorted(maps.Keys(h.pulls)) {
		all = append(all, h.pulls[image])
	}
	return all
}
