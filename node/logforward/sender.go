package logforward

import (
	"context"
	"fmt"

	"pinion/node/logs"
	"pinion/raftfsm/logdriver"
)

// newSender makes the sender of the driver. It connects when there is something to send.
func (f *forwarder) newSender(ctx context.Context) (sender, error) {
	if f.routed() {
		return f.newRouterSender(), nil
	}
	to, err := f.note.Log.Destination()
	if err != nil {
		return nil, err
	}
	options, err := f.options(ctx)
	if err != nil {
		return nil, err
	}
	tag, host := f.note.tag(), f.all.config.HostName
	s := &socket{dial: f.all.dialer.dialing(to), to: to}
	switch f.note.Log.LogDriver {
	case logdriver.Syslog:
		facility, _ := logdriver.Facility(options["syslog-facility"])
		s.skipVerify = options["syslog-tls-skip-verify"] == "true"
		s.encode = syslog{facility: facility, format: options["syslog-format"], host: host, tag: tag}.encode
		s.frame = framing(options["syslog-format"], to.TLS)
	case logdriver.GELF:
		s.encode = gelf{note: &f.note, tag: tag, host: host, packets: to.Network == "udp", compress: gelfCompression(options["gelf-compression-type"], options["gelf-compression-level"])}.encode
		s.frame = func(m []byte) []byte { return append(m, 0) }
	case logdriver.Journald:
		s.encode = journald{&f.note, tag}.encode
		s.frame = func(m []byte) []byte { return append(m, '\n') }
	case logdriver.Fluentd:
		d := fluentd{note: &f.note, tag: tag, subSecond: options["fluentd-sub-second-precision"] == "true"}
		if options["fluentd-request-ack"] == "true" {
			return &acknowledged{s, d}, nil
		}
		s.encode = func(lines []logs.StreamLine) [][]byte { return [][]byte{d.message(lines, "")} }
		s.frame = func(m []byte) []byte { return m }
	case logdriver.Splunk:
		return newSplunk(&f.note, to, f.all.dialer, options["splunk-token"], host), nil
	default:
		return nil, fmt.Errorf("this version of Pinion does not know the log driver %s", f.note.Log.LogDriver)
	}
	return s, nil
}
