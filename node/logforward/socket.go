package logforward

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// encoder makes the messages of lines, each as it stands in a packet.
type encoder func(lines []logs.StreamLine) [][]byte

// socket sends lines to a socket. It connects when there is something to send.
type socket struct {
	dial       func(context.Context) (net.Conn, error)
	to         logdriver.Destination
	skipVerify bool // of TLS
	encode     encoder
	frame      func(message []byte) []byte // as it stands in a stream
	stream     *stream                     // nil: there is no connection, or it takes packets
	packets    net.Conn                    // nil: there is no connection, or it is a stream
}

func (s *socket) close() {
	if s.stream != nil {
		_ = s.stream.Close()
	}
	if s.packets != nil {
		_ = s.packets.Close()
	}
	s.stream, s.packets = nil, nil
}

// connect connects, once.
func (s *socket) connect(ctx context.Context) error {
	if s.stream != nil || s.packets != nil {
		return nil
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	if network := conn.RemoteAddr().Network(); network == "udp" || network == "unixgram" {
		s.packets = conn
		return nil
	}
	s.stream = &stream{Conn: conn, raw: conn.(syscall.Conn)}
	if s.to.TLS {
		s.stream.Conn, err = secure(ctx, conn, s.to.Host(), s.skipVerify)
		if err != nil {
			s.stream = nil
			return errors.Join(err, conn.Close())
		}
	}
	return nil
}

// send implements sender.
func (s *socket) send(ctx context.Context, lines []logs.StreamLine) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	messages := s.encode(lines)
	if s.stream != nil {
		if _, err := s.stream.unsent(); err != nil {
			return err // it has ended since the last lines, and would take these without a word
		}
		var all []byte
		for _, message := range messages {
			all = append(all, s.frame(message)...)
		}
		return s.stream.deliver(ctx, all)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.packets.SetDeadline(time.Now()) })
	defer stop()
	for _, message := range messages {
		if err := s.packets.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
			return err
		}
		if _, err := s.packets.Write(message); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = errStalled
			}
			if errors.Is(err, syscall.EMSGSIZE) {
				err = &rejectedError{err}
			}
			return err
		}
	}
	return nil
}
