// Package datachannel is the message format of AWS Systems Manager's data channel, by which session-manager-plugin and the host of a task
// speak in a session of ExecuteCommand, with the order and the acknowledgement of the messages. It does no input or output.
//
// The source is the client: https://github.com/aws/session-manager-plugin, src/message.
package datachannel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MessageType says what a message is for.
type MessageType string

// The message types.
const (
	Input            MessageType = "input_stream_data"  // from the client
	Output           MessageType = "output_stream_data" // to the client
	Acknowledge      MessageType = "acknowledge"        // both ways; it counts in no sequence
	ChannelClosed    MessageType = "channel_closed"     // to the client: the session is over
	StartPublication MessageType = "start_publication"  // from the client: send output again
	PausePublication MessageType = "pause_publication"  // from the client: send no output
)

// PayloadType says what the payload of an Input or Output is.
type PayloadType uint32

// The payload types that a shell session has. Others are of port forwarding and of encryption by AWS KMS.
const (
	Data              PayloadType = 1 // keys to the command, or its output
	Size              PayloadType = 3 // of the terminal, as JSON
	HandshakeRequest  PayloadType = 5
	HandshakeResponse PayloadType = 6
	HandshakeComplete PayloadType = 7
	Flag              PayloadType = 10 // a big-endian uint32, see FlagTerminate
)

// FlagTerminate is the payload of a Flag that ends the session.
const FlagTerminate = 2

// Flags of a message.
const (
	flagFirst = 1 // the first of a sequence
	flagAck   = 3 // of an acknowledgement
)

// Message is one message. Sequence numbers count from 0 in each direction.
type Message struct {
	Type        MessageType
	Sequence    int64
	Flags       uint64
	ID          [16]byte // a UUID in its usual order
	PayloadType PayloadType
	Payload     []byte
	Created     time.Time
}

// Offsets of the fields, all big endian.
const (
	typeAt        = 4
	versionAt     = 36
	createdAt     = 40
	sequenceAt    = 48
	flagsAt       = 56
	idAt          = 64
	digestAt      = 80
	payloadTypeAt = 112
	lengthAt      = 116
	payloadAt     = 120

	headerLength  = lengthAt // without the payload's length, as the format counts
	schemaVersion = 1
)

// MaxPayload is the size of a payload that is read. The client sends 1,024 bytes at most.
const MaxPayload = 8 << 10

// MaxMessage is the size of a message with the largest payload.
const MaxMessage = payloadAt + MaxPayload

// ErrMalformed is wrapped by the errors of Parse.
var ErrMalformed = errors.New("malformed message of a data channel")

// Append appends the message in its binary form.
func (m *Message) Append(to []byte) []byte {
	at := len(to)
	to = append(to, make([]byte, payloadAt)...)
	header := to[at:]
	binary.BigEndian.PutUint32(header, headerLength)
	copy(header[typeAt:versionAt], fmt.Sprintf("%-32s", m.Type))
	binary.BigEndian.PutUint32(header[versionAt:], schemaVersion)
	binary.BigEndian.PutUint64(header[createdAt:], uint64(m.Created.UnixMilli()))
	binary.BigEndian.PutUint64(header[sequenceAt:], uint64(m.Sequence))
	binary.BigEndian.PutUint64(header[flagsAt:], m.Flags)
	copy(header[idAt:], m.ID[8:]) // the low half comes first
	copy(header[idAt+8:], m.ID[:8])
	digest := sha256.Sum256(m.Payload)
	copy(header[digestAt:], digest[:])
	binary.BigEndian.PutUint32(header[payloadTypeAt:], uint32(m.PayloadType))
	binary.BigEndian.PutUint32(header[lengthAt:], uint32(len(m.Payload)))
	return append(to, m.Payload...)
}

// Parse reads one message. Its payload is a part of text. Errors wrap ErrMalformed.
func Parse(text []byte) (*Message, error) {
	switch {
	case len(text) < payloadAt:
		return nil, fmt.Errorf("%w: it has %d bytes, and the header alone %d", ErrMalformed, len(text), payloadAt)
	case binary.BigEndian.Uint32(text) != headerLength:
		return nil, fmt.Errorf("%w: its header is %d bytes long", ErrMalformed, binary.BigEndian.Uint32(text))
	case binary.BigEndian.Uint32(text[versionAt:]) != schemaVersion:
		return nil, fmt.Errorf("%w: it has the schema version %d", ErrMalformed, binary.BigEndian.Uint32(text[versionAt:]))
	case int64(binary.BigEndian.Uint32(text[lengthAt:])) != int64(len(text)-payloadAt):
		return nil, fmt.Errorf("%w: its payload has %d bytes, not the %d that it says", ErrMalformed, len(text)-payloadAt, binary.BigEndian.Uint32(text[lengthAt:]))
	}
	m := &Message{
		Type:     MessageType(strings.TrimRight(string(text[typeAt:versionAt]), " \x00")),
		Sequence: int64(binary.BigEndian.Uint64(text[sequenceAt:])), Flags: binary.BigEndian.Uint64(text[flagsAt:]),
		PayloadType: PayloadType(binary.BigEndian.Uint32(text[payloadTypeAt:])), Payload: text[payloadAt:],
		Created: time.UnixMilli(int64(binary.BigEndian.Uint64(text[createdAt:]))),
	}
	copy(m.ID[8:], text[idAt:])
	copy(m.ID[:8], text[idAt+8:])
	digest := sha256.Sum256(m.Payload)
	switch {
	case len(m.Payload) > MaxPayload:
		return nil, fmt.Errorf("%w: its payload has %d bytes, and %d are the most", ErrMalformed, len(m.Payload), MaxPayload)
	case m.Sequence < 0:
		return nil, fmt.Errorf("%w: its sequence number is negative", ErrMalformed)
	case len(m.Payload) > 0 && !bytes.Equal(digest[:], text[digestAt:payloadTypeAt]):
		return nil, fmt.Errorf("%w: its payload is not what its digest says", ErrMalformed)
	}
	return m, nil
}
