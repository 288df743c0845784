package datachannel

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var created = time.UnixMilli(1_700_000_000_123)

func TestAMessageHasTheFormOfTheDataChannel(t *testing.T) {
	m := &Message{
		Type: Output, Sequence: 5, Flags: 1, ID: [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, PayloadType: Data, Payload: []byte("hello"), Created: created,
	}
	text := m.Append(nil)
	want := strings.Join([]string{
		"00000074",
		hex.EncodeToString([]byte("output_stream_data              ")),
		"00000001", "0000018bcfe5687b", "0000000000000005", "0000000000000001",
		"08090a0b0c0d0e0f0001020304050607", // the low half first
		"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
		"00000001", "00000005", hex.EncodeToString([]byte("hello")),
	}, "")
	if got := hex.EncodeToString(text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("it is read as %+v, %v", got, err)
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	good := func() []byte {
		return (&Message{Type: Input, PayloadType: Data, Payload: []byte("keys"), Created: created}).Append(nil)
	}
	change := func(at int, to byte) []byte {
		text := good()
		text[at] = to
		return text
	}
	for name, text := range map[string][]byte{
		"empty":                  {},
		"a part of a header":     good()[:payloadAt-1],
		"another header length":  change(3, 1),
		"another schema version": change(versionAt+3, 2),
		"a negative number":      change(sequenceAt, 0xff),
		"a longer payload":       change(lengthAt+3, 200),
		"a shorter payload":      change(lengthAt+3, 1),
		"a wrong digest":         change(digestAt, 0),
		"another payload":        change(payloadAt, 'K'),
		"too much":               (&Message{Type: Input, Payload: make([]byte, MaxPayload+1), Created: created}).Append(nil),
	} {
		if m, err := Parse(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: read as %+v, %v", name, m, err)
		}
	}
}

// FuzzMessage: what is read is written again as it was, but for what the format leaves open.
func FuzzMessage(f *testing.F) {
	f.Add((&Message{Type: Input, PayloadType: Data, Payload: []byte("keys"), Created: created}).Append(nil))
	f.Add((&Message{Type: Acknowledge, Payload: []byte(`{}`), Created: created}).Append(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(m.Append(nil))
		if err != nil || again.Sequence != m.Sequence || again.ID != m.ID || !bytes.Equal(again.Payload, m.Payload) || again.PayloadType != m.PayloadType {
			t.Errorf("%+v becomes %+v, %v", m, again, err)
		}
		_, _ = m.Acknowledged()
		_, _, _ = TerminalSize(m.Payload)
		_ = CheckHandshakeResponse(m.Payload)
	})
}
