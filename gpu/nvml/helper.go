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
	"pinion/packaging/backoff"
)

// callTimeout bounds one call. The driver takes 20 seconds to wake eight sleeping GPUs.
const callTimeout = 60 * time.Second

// restartDelays are the pauses before a crashed helper is started again.
var restartDelays = backoff.Backoff{Min: time.Second, Max: time.Minute}

// helper supervises at most one helper process. The first call starts it. It is killed when it sends an invalid message or
// does not answer in time. After it exited, calls fail with the cause until the back-off is over.
type helper struct {
	run         startFunc
	log         *slog.Logger
	callTimeout time.Duration        // bounds one call
	onEvent     func(protocol.Event) // receives the driver's events
	onDown      func()               // called when the helper exited, and again when the back-off is over

	mu      sync.Mutex
	client  *rpcClient // nil when no helper runs
	lastID  uint64
	crashes int       // in a row
	retryAt time.Time // end of the current back-off
	err     error     // cause of the last exit
	closed  bool
	paused  bool // no helper may run, see suspend
}

var (
	errClosed    = errors.New("the source of GPUs is closed")
	errResetting = errors.New("a GPU of this host is being reset")
	errHangs     = errors.New("the NVIDIA driver hangs")
)

// call sends one request and waits for its response.
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

// send writes the request to the helper, and starts the helper if none runs.
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
	// If the helper exited meanwhile, its exit error explains more than the failed write.
	h.client.process.requests.Write(append(line, '\n'))
	return h.client, answer, nil
}

// ensureRunning starts the helper if none runs.
func (h *helper) ensureRunning() error {
	if h.closed {
		return errClosed
	}
	if h.paused {
		return errResetting
	}
	if h.client != nil {
		select {
		case <-h.client.done: // failed, but its process hangs in the driver, where SIGKILL has no effect
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

// supervise reads messages from one helper until its process has exited.
func (h *helper) supervise(client *rpcClient, startedAt time.Time) {
	err := client.readUntilExit(h.onEvent, h.log)
	defer close(client.exited)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client = nil
	if time.Since(startedAt) > restartDelays.Max {
		h.crashes = 0
	}
	if !h.closed && !h.paused {
		h.log.Error("pinion-nvml died", "error", h.onExit(err))
	}
}

// onExit records the cause of the exit and when the helper may be restarted.
func (h *helper) onExit(why error) error {
	pause := restartDelays.After(h.crashes)
	h.crashes++
	h.retryAt = time.Now().Add(pause)
	h.err = why
	h.onDown()
	time.AfterFunc(pause, h.onDown)
	return why
}

// suspend runs f while no helper runs. Calls fail meanwhile.
func (h *helper) suspend(ctx context.Context, f func() error) error {
	h.mu.Lock()
	if h.paused {
		h.mu.Unlock()
		return errResetting
	}
	h.paused = true
	client := h.client
	if client != nil {
		client.fail(errResetting)
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.paused = false
		h.onDown()
	}()
	if client != nil {
		select {
		case <-client.exited:
		case <-ctx.Done():
			return fmt.Errorf("the helper that has the GPUs open does not end: %w", ctx.Err())
		}
	}
	return f()
}

// close ends the helper. It does not wait for a process that hangs in the driver.
func (h *helper) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.client != nil {
		h.client.fail(errClosed)
	}
}
