package daemon

import (
	"net"
	"path/filepath"
	"testing"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// endingContent ends every write after its first request, as a daemon that dies does.
type endingContent struct {
	contentapi.UnimplementedContentServer
}

func (endingContent) Write(stream contentapi.Content_WriteServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "the daemon goes away")
}

func TestAWriteToADeadDaemonFailsAsUnavailable(t *testing.T) {
	address := filepath.Join(t.TempDir(), "containerd.sock")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	contentapi.RegisterContentServer(server, endingContent{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := containerd.New(address, DialOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	stream, err := contentapi.NewContentClient(client.Conn().(grpc.ClientConnInterface)).Write(t.Context())
	for err == nil {
		err = stream.Send(&contentapi.WriteContentRequest{Ref: "layer", Data: make([]byte, 1024)})
	}
	if !errdefs.IsUnavailable(errgrpc.ToNative(err)) {
		t.Errorf("the write ended with %v", err)
	}
}
