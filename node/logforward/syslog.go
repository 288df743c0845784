package logforward

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"pinion/node/logs"
)

// Severities of RFC 5424, of the two streams of a container.
const severityError, severityInfo = 3, 6

// maxPacketText bounds the text of a message that travels in a packet, in bytes: the longest packet has 65,507. In a stream it is a line's.
const maxPacketText = 32 << 10

// syslog writes messages as Docker's driver does, with the time of the line.
type syslog struct {
	facility  int
	format    string // rfc5424, rfc5424micro, rfc3164, or empty for that without a host
	host, tag string
}

// framing delimits messages in a stream: each ends a line, or, of RFC 5424 with TLS, has its length before it (RFC 5425).
func framing(format string, secured bool) func([]byte) []byte {
	if secured && strings.HasPrefix(format, "rfc5424") {
		return func(m []byte) []byte { return append(fmt.Appendf(nil, "%d ", len(m)), m...) }
	}
	return func(m []byte) []byte { return append(m, '\n') }
}

func (s syslog) encode(lines []logs.StreamLine) (messages [][]byte) {
	for i := range lines {
		for text := range pieces(lines[i].Text, maxPacketText) {
			messages = append(messages, s.message(&lines[i], text))
		}
	}
	return messages
}

func (s syslog) message(l *logs.StreamLine, text string) []byte {
	severity := severityInfo
	if l.Stderr {
		severity = severityError
	}
	m := fmt.Appendf(nil, "<%d>", s.facility*8+severity)
	at := l.Time.Local()
	switch s.format {
	case "rfc5424", "rfc5424micro":
		stamp := time.RFC3339
		if s.format == "rfc5424micro" {
			stamp = "2006-01-02T15:04:05.000000Z07:00"
		}
		m = fmt.Appendf(m, "1 %s %s %s %d %s - %s", at.Format(stamp), headerField(s.host, 255), headerField(s.tag, 48), os.Getpid(), headerField(s.tag, 32), text)
	case "rfc3164":
		m = fmt.Appendf(m, "%s %s %s[%d]: %s", at.Format(time.Stamp), headerField(s.host, 255), s.tag, os.Getpid(), text)
	default:
		m = fmt.Appendf(m, "%s %s[%d]: %s", at.Format(time.Stamp), s.tag, os.Getpid(), text)
	}
	return m
}

// headerField is a text as a field of a header: of printable characters of ASCII without blanks, of a length at most, and not empty.
func headerField(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
	if text == "" {
		return "-"
	}
	return text[:min(len(text), most)]
}

// pieces cuts a text between characters into pieces of so many bytes at most; an empty one is one piece.
func pieces(text string, most int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > most {
			cut := most
			for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
				cut--
			}
			if !yield(text[:cut]) {
				return
			}
			text = text[cut:]
		}
		yield(text)
	}
}
