package virtualip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A probe of RFC 5227, faster: its times are for machines that ask when they are switched on, and here clients wait.
const (
	probes        = 3
	probeInterval = 100 * time.Millisecond
)

// Offsets in an ARP packet for Ethernet and IPv4, and its operations.
const (
	arpSize       = 28
	arpOperation  = 6
	arpSender     = 8  // hardware address
	arpSenderIP   = 14 // protocol address
	arpTargetIP   = 24
	arpRequest    = 1
	ethernet      = 1
	hardwareBytes = 6
)

// arpPacket asks for target in the name of sender, which is zero in a probe: nobody is to note it.
func arpPacket(hardware net.HardwareAddr, sender, target netip.Addr) []byte {
	p := make([]byte, arpSize)
	binary.BigEndian.PutUint16(p[0:], ethernet)
	binary.BigEndian.PutUint16(p[2:], unix.ETH_P_IP)
	p[4], p[5] = hardwareBytes, net.IPv4len
	binary.BigEndian.PutUint16(p[arpOperation:], arpRequest)
	copy(p[arpSender:], hardware)
	copy(p[arpSenderIP:], sender.AsSlice())
	copy(p[arpTargetIP:], target.AsSlice())
	return p
}

// arpSocket sends and receives ARP packets on one device.
type arpSocket struct {
	fd     int
	device *netlink.LinkAttrs
}

func openARP(device *netlink.LinkAttrs) (*arpSocket, error) {
	if len(device.HardwareAddr) != hardwareBytes {
		return nil, fmt.Errorf("%s is no Ethernet device: there is no ARP to tell others of an address", device.Name)
	}
	protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ARP))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(protocol))
	if err != nil {
		return nil, fmt.Errorf("a socket for ARP on %s: %w", device.Name, err)
	}
	s := &arpSocket{fd, device}
	short := unix.NsecToTimeval(int64(probeInterval / 4))
	err = errors.Join(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: device.Index}), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &short))
	if err != nil {
		s.close()
		return nil, fmt.Errorf("a socket for ARP on %s: %w", device.Name, err)
	}
	return s, nil
}

func (s *arpSocket) close() { unix.Close(s.fd) }

// broadcast sends a packet to all machines of the device's network.
func (s *arpSocket) broadcast(packet []byte) error {
	to := &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ARP)), Ifindex: s.device.Index, Halen: hardwareBytes}
	for i := range hardwareBytes {
		to.Addr[i] = 0xff
	}
	if err := unix.Sendto(s.fd, packet, 0, to); err != nil {
		return fmt.Errorf("ARP on %s: %w", s.device.Name, err)
	}
	return nil
}

// listen waits for a packet that another machine sends from the address, until a moment; nil: none came.
func (s *arpSocket) listen(ctx context.Context, ip netip.Addr, until time.Time) (net.HardwareAddr, error) {
	packet := make([]byte, 128)
	for time.Now().Before(until) && ctx.Err() == nil {
		n, _, err := unix.Recvfrom(s.fd, packet, 0)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("ARP on %s: %w", s.device.Name, err)
		}
		from := net.HardwareAddr(bytes.Clone(packet[arpSender:arpSenderIP]))
		if n >= arpSize && bytes.Equal(packet[arpSenderIP:arpSenderIP+net.IPv4len], ip.AsSlice()) && !bytes.Equal(from, s.device.HardwareAddr) {
			return from, nil
		}
	}
	return nil, ctx.Err()
}

// probe fails with ErrTaken when a machine of the device's network has the address.
func probe(ctx context.Context, device *netlink.LinkAttrs, ip netip.Addr) error {
	s, err := openARP(device)
	if err != nil {
		return err
	}
	defer s.close()
	for range probes {
		if err := s.broadcast(arpPacket(device.HardwareAddr, netip.IPv4Unspecified(), ip)); err != nil {
			return err
		}
		from, err := s.listen(ctx, ip, time.Now().Add(probeInterval))
		if err != nil {
			return err
		}
		if from != nil {
			return taken(ip, fmt.Sprintf("%s on %s", from, device.Name))
		}
	}
	return nil
}

// announce tells the machines of the device's network that the address is here now.
func announce(device *netlink.LinkAttrs, ip netip.Addr) error {
	s, err := openARP(device)
	if err != nil {
		return err
	}
	defer s.close()
	return s.broadcast(arpPacket(device.HardwareAddr, ip, ip))
}
