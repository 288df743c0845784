package rpc

import "context"

// LeaderCall is a call that hosts make to the leader, each on its own behalf: at Path, or directly where the caller leads. It must be safe to
// repeat.
type LeaderCall[In, Out any] struct {
	Path     string
	MaxBytes int64 // of a request [64 KiB]
	// Answer is the leader's answer to the host with the id from. It fails with spec.ErrNotLeader where this host does not lead.
	Answer func(ctx context.Context, from string, in In) (Out, error)
}

// Do is the leader's answer to the host here, by its id.
func (c LeaderCall[In, Out]) Do(ctx context.Context, leader Leadership, hostID string, in In) (out Out, err error) {
	err = leader.CallLeaderAt(ctx, c.Path, in, &out, func() (err error) {
		out, err = c.Answer(ctx, hostID, in)
		return err
	})
	return out, err
}

// Handler answers other hosts.
func (c LeaderCall[In, Out]) Handler() HandlerFunc {
	if c.MaxBytes > 0 {
		return handleJSON(c.MaxBytes, c.Answer)
	}
	return JSON(c.Answer)
}
