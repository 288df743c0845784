package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apiclient "pinion/api/client"
	"pinion/packaging/testbed"
)

// keyPresses is the number of keys that one measurement presses.
const keyPresses = 1000

// measureKeyPresses times a key of an exec session from its press to its echo by the terminal of the command: on another host than the one that the client
// talks to, and in turns with it on that host.
func measureKeyPresses(p *pool, _ options, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	c := p.client(now.leader)
	if err := c.define("keys"); err != nil {
		return err
	}
	var samples [2][]time.Duration
	var sessions [2]*keys
	for i, h := range []*testbed.Host{now.leader, now.agent} {
		t, err := c.startOn(now.ids[h.Name], "keys")
		if err != nil {
			return err
		}
		defer func() { _ = c.stop(t) }() // the pool is taken down
		sessions[i] = openKeys(p.ctx, c, t)
		defer sessions[i].close()
		if _, err := sessions[i].out.ReadString('\n'); err != nil { // what the command says when it has started
			return err
		}
	}
	for range keyPresses {
		for i, s := range sessions {
			took, err := s.press()
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], took)
		}
	}
	return r.add("Pool/key-press", keyPresses, append(percentiles("", samples[1]), percentiles("one-host-", samples[0])...)...)
}

// startOn starts one task of a family on a host, and waits until it runs.
func (c *client) startOn(hostID, family string) (task, error) {
	var answer tasks
	err := c.call("StartTask", object{"taskDefinition": family, "containerInstances": []string{hostID}, "enableExecuteCommand": true}, &answer)
	if err == nil && len(answer.Tasks) != 1 {
		err = fmt.Errorf("StartTask %s: %v", family, answer.Failures)
	}
	if err != nil {
		return task{}, err
	}
	return c.wait(answer.Tasks[0], "RUNNING")
}

// keys is an exec session on a terminal, whose command reads nothing: the terminal echoes each key.
type keys struct {
	in    *io.PipeWriter
	out   *bufio.Reader
	shown *io.PipeReader
	end   context.CancelFunc
	ended chan error
}

func openKeys(ctx context.Context, c *client, t task) *keys {
	ctx, cancel := context.WithCancel(ctx)
	in, pressed := io.Pipe()
	shown, out := io.Pipe()
	s := &keys{in: pressed, out: bufio.NewReader(shown), shown: shown, end: cancel, ended: make(chan error, 1)}
	go func() {
		_, err := c.api.Exec(ctx, t.id(), apiclient.ExecRequest{Command: []string{"/pinion", "pause"}, TTY: true, Stdin: in, Stdout: out})
		out.CloseWithError(errors.Join(err, io.ErrUnexpectedEOF))
		s.ended <- err
	}()
	return s
}

// press presses a key and waits for its echo.
func (s *keys) press() (time.Duration, error) {
	begin := time.Now()
	if _, err := s.in.Write([]byte("x")); err != nil {
		return 0, err
	}
	_, err := s.out.ReadByte()
	return time.Since(begin), err
}

// close ends the session, and waits for its end.
func (s *keys) close() {
	s.end()
	s.in.Close()
	s.shown.Close()
	<-s.ended
}
