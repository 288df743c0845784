package nvml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pinion/gpu/nvml/protocol"
)

const (
	// callTimeout is how long one answer may take. Waking eight sleeping GPUs takes the driver 20 seconds.
	callTimeout = 60 * time.Second
	// backoffMin and backoffMax bound the pause before a helper that died is started again; it doubles each time.
	backoffMin = time.Second
	backoffMax = time.Minute
)

// helper supervises at most one helper process. The first call starts it; it is ended when it sends what is no message or does
// not answer. After its end a call fails with the cause until the back-off is over.
type helper struct {
	run         startFunc
	log         *slog.Logger
	callTimeout time.Duration        // how long one answer may take
	onEvent     func(protocol.Event) // takes the driver's events
	onDown      func()               // is called when the helper died, and again when the back-off is over

	mu      sync.Mutex
	client  *rpcClient // nil when no helper runs
	lastID  uint64
	backoff time.Duration // before the next start
	retryAt time.Time     // until when
	err     error         // of the last death
	closed  bool
}

var errClosed = errors.New("the source of GPUs is closed")

// call sends one request and waits for its answer.
func (h *helper) call(ctx context.Context, request protocol.Request) (protocol.Message, error) {
	client, answer, err := h.send(request)
	if err != nil {
		return protocol.Message{}, err
	}
	select {
	case message := <-answer:
		return message, nil
	case <-client.done:
		return protocol.Message{}, client.err
	case <-ctx.Done():
		return protocol.Message{}, fmt.Errorf("the NVIDIA driver has not answered %q yet: %w", request.Kind, ctx.Err())
	}
}

// send writes the request to the helper, which it starts when there is none.
func (h *helper) send(request protocol.Request) (*rpcClient, <-chan protocol.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ensureRunning(); err != nil {
		return nil, nil, err
	}
	h.lastID++
	request.ID = h.lastID
	line, err := json.Marshal(request)
	if err != nil {
		return nil, nil, err
	}
	answer := h.client.register(request, h.callTimeout)
	// A helper that died meanwhile says so better than the failed write.
	h.client.process.requests.Write(append(line, '\n'))
	return h.client, answer, nil
}

// ensureRunning makes sure that a helper runs.
func (h *helper) ensureRunning() error {
	if h.closed {
		return errClosed
	}
	if h.client != nil {
		select {
		case <-h.client.done: // given up, but stuck in the driver where even a kill does not reach it
			return h.client.err
		default:
			return nil
		}
	}
	if wait := time.Until(h.retryAt); wait > 0 {
		return fmt.Errorf("%w (next try in %v)", h.err, wait.Round(time.Second))
	}
	p, err := h.run()
	if err != nil {
		return h.onExit(fmt.Errorf("pinion-nvml cannot be started: %w", err))
	}
	h.client = newRPCClient(p)
	go h.supervise(h.client, time.Now())
	return nil
}

// supervise listens to one helper until its process is gone.
func (h *helper) supervise(client *rpcClient, startedAt time.Time) {
	err := client.readUntilExit(h.onEvent, h.log)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client = nil
	if time.Since(startedAt) > backoffMax {
		h.backoff = 0
	}
	if !h.closed {
		h.log.Error("pinion-nvml died", "error", h.onExit(err))
	}
}

// onExit remembers why the helper is gone and when it may be started again.
func (h *helper) onExit(why error) error {
	h.backoff = min(max(2*h.backoff, backoffMin), backoffMax)
	h.retryAt = time.Now().Add(h.backoff)
	h.err = why
	h.onDown()
	time.AfterFunc(h.backoff, h.onDown)
	return why
}

// close ends the helper. It does not wait for a process that is stuck in the driver.
func (h *helper) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.client != nil {
		h.client.fail(errClosed)
	}
}
