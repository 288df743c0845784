package proxy

import (
	"errors"
	"fmt"
	"net"

	"pinion/raftfsm/traffic"
)

// socket identifies the address and port of a listener: a port of a virtual address, by its number, or of all addresses of the host, which is number 0.
type socket struct{ number, port int }

func socketOf(config traffic.Listener) socket {
	if config.Virtual == nil {
		return socket{port: config.Port}
	}
	return socket{config.Virtual.Number, config.Port}
}

var errNoVirtual = errors.New("this host has no virtual addresses")

func (p *Proxy) listen(at socket) (opened net.Listener, err error) {
	switch {
	case at.number == 0:
		if opened, err = p.config.Listen(at.port); err != nil {
			return nil, fmt.Errorf("cannot listen on port %d: %w; free the port or choose another", at.port, err)
		}
		return opened, nil
	case p.config.ListenVirtual == nil:
		return nil, errNoVirtual
	}
	return p.config.ListenVirtual(at.number, at.port)
}
