package nvml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pinion/gpu/nvml/wire"
)

const (
	// patience is how long one answer may take. Waking eight sleeping GPUs takes the driver 20 seconds.
	patience = 60 * time.Second
	// firstRest and longestRest bound the pause before a helper that died is started again; it doubles each time.
	firstRest   = time.Second
	longestRest = time.Minute
)

// helper keeps at most one helper process, starts it when it is asked something, and gives up on it when it dies, talks
// nonsense or does not answer. After that it is left alone for a while; whoever asks meanwhile is told why.
type helper struct {
	run      startFunc
	log      *slog.Logger
	patience time.Duration    // how long one answer may take
	event    func(wire.Event) // takes what the helper says unasked
	down     func()           // hears that the helper died, and again when it may be started anew

	mu      sync.Mutex
	now     *conversation // nil when no helper runs
	lastID  uint64
	rest    time.Duration // before the next start
	resting time.Time     // until when
	why     error         // of the last death
	closed  bool
}

var errClosed = errors.New("the source of GPUs is closed")

// ask sends one request and waits for its answer.
func (h *helper) ask(ctx context.Context, request wire.Request) (wire.Message, error) {
	talk, answer, err := h.send(request)
	if err != nil {
		return wire.Message{}, err
	}
	select {
	case message := <-answer:
		return message, nil
	case <-talk.over:
		return wire.Message{}, talk.why
	case <-ctx.Done():
		return wire.Message{}, fmt.Errorf("the NVIDIA driver has not answered %q yet: %w", request.Kind, ctx.Err())
	}
}

// send writes the request to the helper, which it starts when there is none.
func (h *helper) send(request wire.Request) (*conversation, <-chan wire.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ready(); err != nil {
		return nil, nil, err
	}
	h.lastID++
	request.ID = h.lastID
	line, err := json.Marshal(request)
	if err != nil {
		return nil, nil, err
	}
	answer := h.now.expect(request, h.patience)
	// A helper that died meanwhile says so better than the failed write.
	h.now.process.requests.Write(append(line, '\n'))
	return h.now, answer, nil
}

// ready makes sure that a helper runs.
func (h *helper) ready() error {
	if h.closed {
		return errClosed
	}
	if h.now != nil {
		select {
		case <-h.now.over: // given up, but stuck in the driver where even a kill does not reach it
			return h.now.why
		default:
			return nil
		}
	}
	if wait := time.Until(h.resting); wait > 0 {
		return fmt.Errorf("%w (next try in %v)", h.why, wait.Round(time.Second))
	}
	p, err := h.run()
	if err != nil {
		return h.mourn(fmt.Errorf("pinion-nvml cannot be started: %w", err))
	}
	h.now = newConversation(p)
	go h.attend(h.now, time.Now())
	return nil
}

// attend listens to one helper until its process is gone.
func (h *helper) attend(talk *conversation, born time.Time) {
	err := talk.listen(h.event, h.log)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = nil
	if time.Since(born) > longestRest {
		h.rest = 0
	}
	if !h.closed {
		h.log.Error("pinion-nvml died", "error", h.mourn(err))
	}
}

// mourn remembers why the helper is gone and when it may be started again.
func (h *helper) mourn(why error) error {
	h.rest = min(max(2*h.rest, firstRest), longestRest)
	h.resting = time.Now().Add(h.rest)
	h.why = why
	h.down()
	time.AfterFunc(h.rest, h.down)
	return why
}

// close ends the helper. It does not wait for a process that is stuck in the driver.
func (h *helper) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.now != nil {
		h.now.giveUp(errClosed)
	}
}
