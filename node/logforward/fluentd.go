package logforward

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"pinion/node/logs"
)

// fluentd writes lines as version 1 of the forward protocol has them, in its forward mode: one message with the entries of a batch, whose members are
// those of Docker's driver.
type fluentd struct {
	note      *forwardRecord
	tag       string
	subSecond bool // times with nanoseconds, as an extension of MessagePack
}

// message is [tag, [[time, record], ...], options]; chunk, unless it is empty, asks for an acknowledgement.
func (d fluentd) message(lines []logs.StreamLine, chunk string) []byte {
	m := packArray(nil, 3)
	m = packString(m, d.tag)
	m = packArray(m, len(lines))
	for i := range lines {
		m = d.appendLine(m, &lines[i])
	}
	if chunk == "" {
		return packMap(m, 0)
	}
	return packString(packString(packMap(m, 1), "chunk"), chunk)
}

func (d fluentd) appendLine(m []byte, l *logs.StreamLine) []byte {
	m = packArray(m, 2)
	if d.subSecond {
		m = append(m, 0xd7, 0) // fixext 8 of type 0, EventTime
		m = binary.BigEndian.AppendUint32(m, uint32(l.Time.Unix()))
		m = binary.BigEndian.AppendUint32(m, uint32(l.Time.Nanosecond()))
	} else {
		m = append(m, 0xce) // uint 32
		m = binary.BigEndian.AppendUint32(m, uint32(l.Time.Unix()))
	}
	record := maps.Clone(d.note.Extra)
	if record == nil {
		record = map[string]string{}
	}
	record["container_id"], record["container_name"], record["source"], record["log"] = d.note.ID, "/"+d.note.ID, sourceOf(l), l.Text
	if l.Partial {
		record["partial_message"] = "true"
	}
	m = packMap(m, len(record))
	for _, name := range slices.Sorted(maps.Keys(record)) {
		m = packString(packString(m, name), record[name])
	}
	return m
}

func sourceOf(l *logs.StreamLine) string {
	if l.Stderr {
		return "stderr"
	}
	return "stdout"
}

// The parts of MessagePack that messages need.

func packArray(m []byte, n int) []byte {
	if n < 16 {
		return append(m, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(m, 0xdc), uint16(min(n, math.MaxUint16)))
}

func packMap(m []byte, n int) []byte {
	if n < 16 {
		return append(m, 0x80|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(m, 0xde), uint16(min(n, math.MaxUint16)))
}

func packString(m []byte, text string) []byte {
	switch n := len(text); {
	case n < 32:
		m = append(m, 0xa0|byte(n))
	case n <= math.MaxUint16:
		m = binary.BigEndian.AppendUint16(append(m, 0xda), uint16(n))
	default:
		m = binary.BigEndian.AppendUint32(append(m, 0xdb), uint32(n))
	}
	return append(m, text...)
}

// acknowledged sends messages and waits until the other side says that it has each.
type acknowledged struct {
	*socket
	fluentd fluentd
}

// maxAcknowledgement bounds an acknowledgement, in bytes.
const maxAcknowledgement = 1 << 10

// send implements sender. The answer is a map with the member ack, which is the id of the message.
func (a *acknowledged) send(ctx context.Context, lines []logs.StreamLine) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	if a.stream == nil {
		return errors.New("an acknowledgement needs a stream")
	}
	var id [16]byte
	rand.Read(id[:])
	chunk := base64.StdEncoding.EncodeToString(id[:])
	if _, err := a.stream.unsent(); err != nil {
		return err
	}
	if err := a.stream.deliver(ctx, a.fluentd.message(lines, chunk)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = a.stream.SetDeadline(time.Now()) })
	defer stop()
	if err := a.stream.SetReadDeadline(time.Now().Add(stallTimeout)); err != nil {
		return err
	}
	want := packString(packString(packMap(nil, 1), "ack"), chunk)
	answer := make([]byte, 0, maxAcknowledgement)
	for !bytes.Equal(answer, want) {
		if len(answer) == cap(answer) || !bytes.HasPrefix(want, answer) {
			return errors.New("the destination answers with something that is no acknowledgement of what it was sent")
		}
		n, err := a.stream.Read(answer[len(answer):cap(answer)])
		answer = answer[:len(answer)+n]
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errStalled
		}
		if err != nil {
			return err
		}
	}
	return nil
}
