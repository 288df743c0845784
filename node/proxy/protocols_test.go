package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"pinion/raftfsm/traffic"
)

// echoService answers each message of a stream with one, and ends with trailers and a status.
var echoService = grpc.ServiceDesc{ServiceName: "echo", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
	StreamName: "Talk", ServerStreams: true, ClientStreams: true,
	Handler: func(_ any, stream grpc.ServerStream) error {
		for {
			var said wrapperspb.StringValue
			if err := stream.RecvMsg(&said); errors.Is(err, io.EOF) {
				stream.SetTrailer(metadata.Pairs("told", "all"))
				return status.Error(codes.DataLoss, "as agreed")
			} else if err != nil {
				return err
			}
			if err := stream.SendMsg(wrapperspb.String("echo " + said.Value)); err != nil {
				return err
			}
		}
	},
}}}

func (s *site) grpcServer() traffic.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&echoService, struct{}{})
	s.Cleanup(server.Stop)
	go server.Serve(l) //nolint:errcheck // ends with Stop
	return target(l.Addr().String())
}

// talk opens a stream through the listener of port 80.
func (s *site) talk() grpc.ClientStream {
	s.Helper()
	conn, err := grpc.NewClient(s.address(80), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	stream, err := conn.NewStream(s.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/echo/Talk")
	if err != nil {
		s.Fatal(err)
	}
	return stream
}

func TestGRPCGoesBothWaysAndKeepsItsTrailers(t *testing.T) {
	s := newSite(t)
	g := group("web", s.grpcServer())
	g.Version = traffic.GRPC
	s.apply(toGroup(g))
	stream := s.talk()
	for i := range 3 { // each answer comes before the next question
		var answer wrapperspb.StringValue
		if err := errors.Join(stream.SendMsg(wrapperspb.String(fmt.Sprint(i))), stream.RecvMsg(&answer)); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("echo ", i); answer.Value != want {
			t.Errorf("%q, want %q", answer.Value, want)
		}
	}
	_ = stream.CloseSend()
	err := stream.RecvMsg(new(wrapperspb.StringValue))
	if status.Code(err) != codes.DataLoss || len(stream.Trailer()["told"]) != 1 {
		t.Errorf("%v, trailers %v", err, stream.Trailer())
	}
}

func TestAnErrorOfTheProxyIsAStatusOfGRPC(t *testing.T) {
	s := newSite(t)
	g := group("web", s.refused())
	g.Version = traffic.GRPC
	s.apply(toGroup(g))
	stream := s.talk()
	_ = stream.CloseSend()
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

// A client would send what is UNAVAILABLE again, and it takes too long again.
func TestAGRPCRequestThatTakesTooLongHasExceededItsDeadline(t *testing.T) {
	s := newSite(t)
	g := group("web", s.grpcServer())
	g.Version = traffic.GRPC
	routing := toGroup(g)
	routing.Listeners[0].RequestTimeout = 100 * time.Millisecond
	s.apply(routing)
	stream := s.talk() // the target waits for a message
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

func TestAWebSocketIsCarriedAndCounted(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		line, _ := both.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	}))))
	conn := s.dial(80)
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	if n := s.metrics("web", "").InFlight; n != 1 {
		t.Errorf("%d in flight while it is open", n)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, err := reader.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q, %v", line, err)
	}
	conn.Close()
	s.eventually(func() bool { return s.metrics("web", "").InFlight == 0 })
}

// TestCloseCutsOffAWebSocket: http.Server knows nothing of it any more.
func TestCloseCutsOffAWebSocket(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}))))
	conn := s.dial(80)
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	reader := bufio.NewReader(conn)
	if _, err := http.ReadResponse(reader, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Close(ctx)
	if _, err := reader.ReadByte(); err == nil {
		t.Error("it goes on")
	}
}
