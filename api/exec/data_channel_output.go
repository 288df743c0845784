package exec

import (
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"pinion/api/exec/datachannel"
)

// Write sends output of the command. It waits while the client has too much of it, has paused it, or is away.
func (c *dataChannel) Write(output []byte) (int, error) {
	c.activity()
	for sent := 0; sent < len(output); {
		chunk := output[sent:min(len(output), sent+outputPayload)]
		if !c.awaitRoom() {
			return sent, io.ErrClosedPipe
		}
		c.send(datachannel.Data, append([]byte(nil), chunk...))
		sent += len(chunk)
	}
	return len(output), nil
}

// awaitRoom waits until output may be sent; false when none may any more.
func (c *dataChannel) awaitRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && (c.paused || c.window.Len() >= maxUnacknowledged) {
		c.change.Wait()
	}
	return !c.over
}

// send numbers a message and sends it, if there is a connection. Otherwise, and if it gets lost there, it is sent later.
func (c *dataChannel) send(kind datachannel.PayloadType, payload []byte) {
	m := newMessage(kind, payload)
	c.sending.Lock()
	defer c.sending.Unlock()
	c.mu.Lock()
	c.window.Add(m, time.Now())
	conn := c.conn
	c.mu.Unlock()
	if conn != nil && conn.Write(m.Append(nil)) != nil {
		conn.Close("") // whoever reads it sees that
	}
}

// Abort fails output that waits for the client, and ends the input.
func (c *dataChannel) Abort() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.change.Broadcast()
	c.input.close()
}

// Finish tells the client that the session is over, once it has all output: as long as it goes on acknowledging, or may come back.
func (c *dataChannel) Finish(_ int, cause error) {
	c.drain()
	c.Abort()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return
	}
	defer closeAfter(conn, goodbyeTimeout)()
	reason := ""
	if cause != nil {
		reason = fmt.Sprintf("Pinion: %v.", cause)
	}
	_ = conn.Write(datachannel.NewChannelClosed(c.session, reason, newUUID(), time.Now()).Append(nil)) // a client that is gone needs no word
	conn.Close("the session is over")
}

// drain waits until there is a client and everything is acknowledged. It ends when nothing was acknowledged for finishTimeout, when the client stays away
// for resumeTimeout, and when the session is aborted.
func (c *dataChannel) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && (c.window.Len() > 0 || c.conn == nil) {
		waiting, conn, patience, late := c.window.Len(), c.conn, finishTimeout, false
		if conn == nil {
			patience = resumeTimeout
		}
		timer := time.AfterFunc(patience, func() {
			c.mu.Lock()
			late = true
			c.mu.Unlock()
			c.change.Broadcast()
		})
		for !c.over && c.window.Len() == waiting && c.conn == conn && !late {
			c.change.Wait()
		}
		timer.Stop()
		if late {
			return
		}
	}
}

func newMessage(kind datachannel.PayloadType, payload []byte) *datachannel.Message {
	return &datachannel.Message{Type: datachannel.Output, ID: newUUID(), PayloadType: kind, Payload: payload, Created: time.Now()}
}

func newUUID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}
