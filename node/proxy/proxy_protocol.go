package proxy

import (
	"encoding/binary"
	"net"
)

// proxyHeader is the header of the PROXY protocol, version 2, with which a target learns who its client is.
func proxyHeader(from, to net.Addr) []byte {
	const signature, proxied = "\r\n\r\n\x00\r\nQUIT\n", 0x21
	const local, overTCP4, overTCP6 = 0x20, 0x11, 0x21
	source, ok1 := from.(*net.TCPAddr)
	destination, ok2 := to.(*net.TCPAddr)
	if !ok1 || !ok2 {
		return append([]byte(signature), local, 0, 0, 0)
	}
	family, a, b := byte(overTCP4), source.IP.To4(), destination.IP.To4()
	if a == nil || b == nil {
		family, a, b = overTCP6, source.IP.To16(), destination.IP.To16()
	}
	header := append([]byte(signature), proxied, family)
	header = binary.BigEndian.AppendUint16(header, uint16(len(a)+len(b)+4))
	header = append(append(header, a...), b...)
	header = binary.BigEndian.AppendUint16(header, uint16(source.Port))
	return binary.BigEndian.AppendUint16(header, uint16(destination.Port))
}
