package nvml

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/gpu/nvml/protocol"
)

const (
	// maxMessage bounds one message; a specification for sixteen GPUs takes a twentieth of it.
	maxMessage = 4 << 20
	// stderrLinesKept is the number of last lines of standard error that explain the exit of a helper.
	stderrLinesKept = 5
)

// rpcClient sends requests to one helper process. It fails when the process exits, or when a response is late.
type rpcClient struct {
	process *process
	done    chan struct{} // closed when no more responses come
	exited  chan struct{} // closed when the process has ended
	err     error         // set before done is closed

	mu      sync.Mutex
	pending map[uint64]pendingCall
}

type pendingCall struct {
	kind    protocol.Kind
	answer  chan protocol.Message // has capacity for the response
	timeout *time.Timer           // fails the client
}

func newRPCClient(p *process) *rpcClient {
	return &rpcClient{process: p, done: make(chan struct{}), exited: make(chan struct{}), pending: map[uint64]pendingCall{}}
}

// register registers a request before it is sent. A late response ends the helper, whether or not the caller still waits:
// otherwise a hang of the driver would go unnoticed when every caller has a shorter deadline.
func (c *rpcClient) register(request protocol.Request, patience time.Duration) <-chan protocol.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := time.AfterFunc(patience, func() {
		c.fail(fmt.Errorf("pinion-nvml did not answer %q within %v and was ended: %w; see `dmesg`", request.Kind, patience, errHangs))
	})
	w := pendingCall{request.Kind, make(chan protocol.Message, 1), limit}
	c.pending[request.ID] = w
	return w.answer
}

// fail ends the client, once, and its process; pending calls get the error.
func (c *rpcClient) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return
	default:
	}
	c.err = why
	for _, w := range c.pending {
		w.timeout.Stop()
	}
	close(c.done)
	c.process.kill()
}

// readUntilExit dispatches the helper's messages until its process has exited, and returns the cause.
func (c *rpcClient) readUntilExit(event func(protocol.Event), log *slog.Logger) error {
	heard := make(chan []string, 1)
	go func() { heard <- drainStderr(c.process.stderr, log) }()
	nonsense := c.read(event)
	if nonsense != nil {
		c.fail(nonsense)
	}
	words := <-heard
	c.fail(c.exitError(c.process.wait(), words))
	return c.err
}

// read dispatches messages until the stream ends. It fails on the first invalid line.
func (c *rpcClient) read(event func(protocol.Event)) error {
	lines := bufio.NewScanner(c.process.messages)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		var m protocol.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("pinion-nvml said %.80q, which is no message (%w), and was ended", lines.Text(), err)
		}
		if m.Event != nil {
			event(*m.Event)
			continue
		}
		c.complete(m)
	}
	return lines.Err()
}

func (c *rpcClient) complete(m protocol.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.pending[m.ID]; ok {
		w.timeout.Stop()
		delete(c.pending, m.ID)
		w.answer <- m
	}
}

// exitError describes the exit of the helper: the pending request, the exit status, and the last lines of standard error.
func (c *rpcClient) exitError(exit error, words []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var during []string
	for _, w := range c.pending {
		during = append(during, fmt.Sprintf("%q", w.kind))
	}
	slices.Sort(during)
	text := "pinion-nvml died"
	if len(during) > 0 {
		text += " while it answered " + strings.Join(slices.Compact(during), " and ")
	}
	if exit == nil {
		text += ": it ended by itself"
	} else {
		text += ": " + exit.Error()
	}
	if len(words) > 0 {
		text += "; it said: " + strings.Join(words, " / ")
	}
	return fmt.Errorf("%s", text)
}

// drainStderr logs the output of the helper and the driver's library, and returns the last lines.
func drainStderr(stderr io.Reader, log *slog.Logger) []string {
	var last []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		log.Debug("pinion-nvml", "line", lines.Text())
		last = append(last, lines.Text())
		last = last[max(0, len(last)-stderrLinesKept):]
	}
	io.Copy(io.Discard, stderr) // after a line that is too long
	return last
}
