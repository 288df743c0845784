package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"pinion/gpu"
)

// fakeSharer is a gpu.Sharer of GPUs in memory, which stays when the agent leaves.
type fakeSharer struct {
	mu     sync.Mutex
	shared map[string]chan struct{} // by UUID; closed when the sharing has failed
	limits map[string]int64         // the greatest share
	err    error                    // of Share
	ended  []string                 // the GPUs, in the order of their ends
}

var _ gpu.Sharer = (*fakeSharer)(nil)

var errServerGone = errors.New("the server is gone")

func newFakeSharer() *fakeSharer {
	return &fakeSharer{shared: map[string]chan struct{}{}, limits: map[string]int64{}}
}

func (f *fakeSharer) Share(_ context.Context, uuid string, mib int64) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	if f.shared[uuid] == nil {
		f.shared[uuid] = make(chan struct{})
	}
	f.limits[uuid] = max(f.limits[uuid], mib)
	return "/pipes/of/" + uuid, nil
}

func (f *fakeSharer) failure(uuid string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shared[uuid]
}

func (f *fakeSharer) Check(uuid string) error {
	select {
	case <-f.failure(uuid):
		return errServerGone
	default:
		return nil
	}
}

func (f *fakeSharer) Watch(ctx context.Context, uuid string) error {
	select {
	case <-f.failure(uuid):
		return errServerGone
	case <-ctx.Done():
		return nil
	}
}

// fail is a server that has crashed.
func (f *fakeSharer) fail(uuid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.shared[uuid])
}

func (f *fakeSharer) End(_ context.Context, uuid string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[uuid] != nil {
		f.ended = append(f.ended, uuid)
		delete(f.shared, uuid)
	}
	return nil
}

func (f *fakeSharer) EndOthers(ctx context.Context, uuids []string) error {
	f.mu.Lock()
	var others []string
	for uuid := range f.shared {
		if !slices.Contains(uuids, uuid) {
			others = append(others, uuid)
		}
	}
	f.mu.Unlock()
	for _, uuid := range others {
		_ = f.End(ctx, uuid)
	}
	return nil
}
