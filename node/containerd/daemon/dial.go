package daemon

import (
	"context"
	"errors"
	"io"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/types/known/emptypb"
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
			stream, err := open(ctx, d, conn, method, options...)
			if err == nil && method == contentWrite {
				stream = requestStream{stream}
			}
			return stream, err
		}),
	})
}

// contentWrite is the streaming method whose client sends a request and then receives its answer, never both at once.
const contentWrite = "/containerd.services.content.v1.Content/Write"

// requestStream returns the status of a stream that has ended also from SendMsg, where gRPC returns io.EOF and leaves the
// status to RecvMsg. containerd's content writer does not ask RecvMsg, so that a daemon that died looked like an end of file.
type requestStream struct{ grpc.ClientStream }

func (s requestStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	for answer := (&emptypb.Empty{}); errors.Is(err, io.EOF); {
		if status := s.RecvMsg(answer); status != nil {
			return status
		}
	}
	return err
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
