package daemon

import (
	"context"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
)

// reconnectTimeout bounds how long a call waits for a daemon that is being restarted.
const reconnectTimeout = 10 * time.Second

// DialOptions make the client reconnect to a restarted daemon within a fraction of a second, and make calls wait for it: a
// restart of the daemon must not fail a task. A call in flight when the daemon died still fails, because its effect is
// unknown.
func DialOptions() containerd.Opt {
	return containerd.WithExtraDialOpts([]grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
			waitReady(ctx, conn)
			return call(ctx, method, request, reply, conn, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			waitReady(ctx, conn)
			return open(ctx, d, conn, method, options...)
		}),
	})
}

func waitReady(ctx context.Context, conn *grpc.ClientConn) {
	state := conn.GetState()
	if state == connectivity.Ready {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reconnectTimeout)
	defer cancel()
	for state != connectivity.Ready {
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
		state = conn.GetState()
	}
}
