package exec

import (
	"context"
	"errors"
	"sync"
	"time"

	"pinion/api/exec/datachannel"
	"pinion/raftfsm/execcommand"
)

const (
	// outputPayload is how much output one message has, and maxUnacknowledged how many messages the client may leave without acknowledgement
	// before the command has to wait: together they bound what a session holds.
	outputPayload     = 4 << 10
	maxUnacknowledged = 64
	// resendAfter is when the client is sent again what it has not acknowledged: it drops what comes before it is ready.
	resendAfter = 200 * time.Millisecond
)

// agentVersion is said to clients. They do some things in another way for agents older than they are, and this one is newer than all.
const agentVersion = "3.3.9999.0"

// dataChannel is the host's end of a session of session-manager-plugin.
type dataChannel struct {
	session   string
	opened    time.Time
	input     *inputQueue
	sizes     chan execcommand.TerminalSize
	activity  func()            // is called when the session is used
	terminate func(cause error) // ends the session
	ready     chan struct{}     // closed when the client is ready for output

	sending sync.Mutex // is held while messages are numbered and sent: they go over each connection in their order

	mu     sync.Mutex // guards what follows
	change sync.Cond  // of what follows
	conn   Conn       // nil: none now
	window datachannel.Window
	paused bool
	over   bool // no more output is taken

	receiving sync.Mutex // guards what follows: two connections may be read for a moment
	order     datachannel.Order
	shaken    bool // the handshake is complete
}

func newDataChannel(session string, activity func(), terminate func(error)) *dataChannel {
	c := &dataChannel{
		session: session, opened: time.Now(), input: newInputQueue(), sizes: make(chan execcommand.TerminalSize, 1), activity: activity, terminate: terminate,
		ready: make(chan struct{}),
	}
	c.change.L = &c.mu
	return c
}

// Ready is closed when the command may start.
func (c *dataChannel) Ready() <-chan struct{} { return c.ready }

// Connect fills in the streams of the command.
func (c *dataChannel) Connect(r *execcommand.Request) {
	r.Stdin, r.Stdout, r.Sizes = c.input, c, c.sizes
}

// Resumable reports that the client may connect again.
func (c *dataChannel) Resumable() bool { return true }

// Serve carries messages over a connection until it ends, and then reports why. The connection before it, if it is still there, ends.
func (c *dataChannel) Serve(ctx context.Context, conn Conn) error {
	defer c.release(conn)
	if err := c.begin(conn); err != nil {
		return err
	}
	resending, stop := context.WithCancel(ctx)
	defer stop()
	go c.resend(resending, conn)
	for {
		text, err := conn.Read(ctx)
		if err == nil {
			err = c.receive(conn, text)
		}
		if err != nil {
			return err
		}
	}
}

// begin makes conn the connection of the session, and sends what it begins with: the request for a handshake, or all that is not acknowledged.
func (c *dataChannel) begin(conn Conn) error {
	c.mu.Lock()
	c.endConnection() // and with it a message that is being sent there
	c.mu.Unlock()
	c.sending.Lock()
	defer c.sending.Unlock()
	begins, err := c.take(conn)
	if err != nil {
		return err
	}
	for _, m := range begins {
		if err := conn.Write(m.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// take makes conn the connection of the session, and returns what it begins with.
func (c *dataChannel) take(conn Conn) ([]*datachannel.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, errors.New("the session is over")
	}
	c.endConnection() // another may have come meanwhile
	if c.window.Len() == 0 && !c.shaken {
		c.window.Add(newMessage(datachannel.HandshakeRequest, datachannel.NewHandshakeRequest(agentVersion)), time.Now())
	}
	c.conn, c.paused = conn, false
	c.change.Broadcast()
	return c.window.Resend(time.Now()), nil
}

// endConnection ends the connection that there is. It is called with mu held.
func (c *dataChannel) endConnection() {
	if c.conn != nil {
		go c.conn.Close(errReplaced.Error()) // which waits for the client
	}
}

func (c *dataChannel) release(conn Conn) {
	conn.Close("")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.conn = nil
		c.change.Broadcast()
	}
}

// resend sends the oldest message again that was not acknowledged in time.
func (c *dataChannel) resend(ctx context.Context, conn Conn) {
	tick := time.NewTicker(resendAfter / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			c.mu.Lock()
			m := c.window.Overdue(now.Add(-resendAfter), now)
			c.mu.Unlock()
			if m != nil && conn.Write(m.Append(nil)) != nil {
				return
			}
		}
	}
}

// receive takes one message of the client.
func (c *dataChannel) receive(conn Conn, text []byte) error {
	m, err := datachannel.Parse(text)
	if err != nil {
		return err
	}
	switch m.Type {
	case datachannel.Input:
		taken, err := c.takeInput(conn, m)
		if err != nil {
			return err
		}
		if taken {
			return conn.Write(datachannel.NewAcknowledge(m, newUUID(), time.Now()).Append(nil))
		}
	case datachannel.Acknowledge:
		sequence, err := m.Acknowledged()
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.window.Acknowledge(sequence)
		c.mu.Unlock()
		c.change.Broadcast()
	case datachannel.PausePublication, datachannel.StartPublication:
		c.mu.Lock()
		c.paused = m.Type == datachannel.PausePublication
		c.mu.Unlock()
		c.change.Broadcast()
	}
	return nil
}

// errReplaced ends a connection when another one has taken its place.
var errReplaced = errors.New("the session has another connection now")

// takeInput puts an input into its order. It reports whether to acknowledge it.
func (c *dataChannel) takeInput(conn Conn, m *datachannel.Message) (acknowledge bool, err error) {
	c.receiving.Lock()
	defer c.receiving.Unlock()
	c.mu.Lock()
	replaced := c.conn != conn
	c.mu.Unlock()
	if replaced {
		return false, errReplaced
	}
	return c.order.Take(m, c.input.hasRoom(), c.deliver), nil
}

// deliver takes the payload of an input whose turn it is.
func (c *dataChannel) deliver(m *datachannel.Message) {
	switch m.PayloadType {
	case datachannel.Data:
		c.input.add(m.Payload)
		c.activity()
	case datachannel.Size:
		if columns, rows, err := datachannel.TerminalSize(m.Payload); err == nil {
			setSize(c.sizes, execcommand.TerminalSize{Columns: columns, Rows: rows})
		}
	case datachannel.HandshakeResponse:
		c.completeHandshake(m.Payload)
	case datachannel.Flag:
		if len(m.Payload) == 4 && m.Payload[3] == datachannel.FlagTerminate {
			c.terminate(errClientEnded)
		}
	}
}

// errClientEnded is the cause of the end of a session that its client has ended.
var errClientEnded = errors.New("the client has ended it")

func (c *dataChannel) completeHandshake(response []byte) {
	if c.shaken {
		return
	}
	if err := datachannel.CheckHandshakeResponse(response); err != nil {
		c.terminate(err)
		return
	}
	c.mu.Lock()
	c.shaken = true
	c.mu.Unlock()
	c.send(datachannel.HandshakeComplete, datachannel.NewHandshakeComplete(time.Since(c.opened), ""))
	close(c.ready)
}

// setSize replaces the size that nobody has taken yet.
func setSize(sizes chan execcommand.TerminalSize, size execcommand.TerminalSize) {
	for {
		select {
		case sizes <- size:
			return
		default:
		}
		select {
		case <-sizes:
		default:
		}
	}
}
