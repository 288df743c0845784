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

	"pinion/gpu/nvml/wire"
)

const (
	// longestLine bounds one message; a specification for sixteen GPUs takes a twentieth of it.
	longestLine = 4 << 20
	// lastWords is how many lines of its standard error are kept to explain a helper's death.
	lastWords = 5
)

// conversation is one helper process and the answers that are awaited from it.
type conversation struct {
	process *process
	over    chan struct{} // closed when no answer will come any more
	why     error         // set before over is closed

	mu      sync.Mutex
	waiting map[uint64]awaited
}

type awaited struct {
	kind   wire.Kind
	answer chan wire.Message // has room for the answer
	limit  *time.Timer       // gives up on the helper
}

func newConversation(p *process) *conversation {
	return &conversation{process: p, over: make(chan struct{}), waiting: map[uint64]awaited{}}
}

// expect registers a request before it is sent. Without an answer in time the helper is given up, whether somebody
// still waits or not: askers that are less patient would otherwise never find out that the driver hangs.
func (c *conversation) expect(request wire.Request, patience time.Duration) <-chan wire.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := time.AfterFunc(patience, func() {
		c.giveUp(fmt.Errorf("pinion-nvml did not answer %q within %v and was ended: the NVIDIA driver hangs; look into dmesg", request.Kind, patience))
	})
	w := awaited{request.Kind, make(chan wire.Message, 1), limit}
	c.waiting[request.ID] = w
	return w.answer
}

// giveUp ends the conversation, once, and the process with it.
func (c *conversation) giveUp(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.over:
		return
	default:
	}
	c.why = why
	for _, w := range c.waiting {
		w.limit.Stop()
	}
	close(c.over)
	c.process.kill()
}

// listen passes on what the helper says until its process is gone, and returns why that is.
func (c *conversation) listen(event func(wire.Event), log *slog.Logger) error {
	heard := make(chan []string, 1)
	go func() { heard <- overhear(c.process.stderr, log) }()
	nonsense := c.read(event)
	if nonsense != nil {
		c.giveUp(nonsense)
	}
	words := <-heard
	c.giveUp(c.obituary(c.process.wait(), words))
	return c.why
}

// read takes messages until there are no more. It fails on the first line that is no message.
func (c *conversation) read(event func(wire.Event)) error {
	lines := bufio.NewScanner(c.process.messages)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var m wire.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("pinion-nvml said %.80q, which is no message (%w), and was ended", lines.Text(), err)
		}
		if m.Event != nil {
			event(*m.Event)
			continue
		}
		c.deliver(m)
	}
	return lines.Err()
}

func (c *conversation) deliver(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.waiting[m.ID]; ok {
		w.limit.Stop()
		delete(c.waiting, m.ID)
		w.answer <- m
	}
}

// obituary says how the helper died: at which request, how its process ended, and what it said last.
func (c *conversation) obituary(exit error, words []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var during []string
	for _, w := range c.waiting {
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

// overhear logs what the helper and the driver's library print, and returns the last lines.
func overhear(stderr io.Reader, log *slog.Logger) []string {
	var last []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		log.Debug("pinion-nvml", "line", lines.Text())
		last = append(last, lines.Text())
		last = last[max(0, len(last)-lastWords):]
	}
	io.Copy(io.Discard, stderr) // after a line that is too long
	return last
}
