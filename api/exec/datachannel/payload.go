package datachannel

import (
	"encoding/json"
	"fmt"
	"time"
)

// acknowledgement is the payload of an Acknowledge.
type acknowledgement struct {
	Type       MessageType `json:"AcknowledgedMessageType"`
	ID         string      `json:"AcknowledgedMessageId"`
	Sequence   int64       `json:"AcknowledgedMessageSequenceNumber"`
	Sequential bool        `json:"IsSequentialMessage"`
}

// NewAcknowledge acknowledges m.
func NewAcknowledge(m *Message, id [16]byte, now time.Time) *Message {
	payload, _ := json.Marshal(acknowledgement{Type: m.Type, ID: uuid(m.ID), Sequence: m.Sequence, Sequential: true}) // strings and numbers: nothing fails
	return &Message{Type: Acknowledge, Flags: flagAck, ID: id, Payload: payload, Created: now}
}

// Acknowledged is the sequence number of the message that m acknowledges. Errors wrap ErrMalformed.
func (m *Message) Acknowledged() (int64, error) {
	var a acknowledgement
	if err := json.Unmarshal(m.Payload, &a); err != nil {
		return 0, fmt.Errorf("%w: an acknowledgement: %w", ErrMalformed, err)
	}
	return a.Sequence, nil
}

// NewChannelClosed says that the session is over, and why; output is shown to the person at the client.
func NewChannelClosed(session, output string, id [16]byte, now time.Time) *Message {
	payload, _ := json.Marshal(struct {
		MessageID     string `json:"MessageId"`
		CreatedDate   string
		DestinationID string `json:"DestinationId"`
		SessionID     string `json:"SessionId"`
		MessageType   MessageType
		SchemaVersion int
		Output        string
	}{uuid(id), now.UTC().Format(time.RFC3339), session, session, ChannelClosed, schemaVersion, output}) // likewise
	return &Message{Type: ChannelClosed, Flags: flagAck, ID: id, Payload: payload, Created: now}
}

// NewHandshakeRequest is the payload that asks the client for a shell session.
func NewHandshakeRequest(agentVersion string) []byte {
	type parameters struct {
		SessionType string
		Properties  map[string]string
	}
	type action struct {
		ActionType       string
		ActionParameters parameters
	}
	payload, _ := json.Marshal(struct {
		AgentVersion           string
		RequestedClientActions []action
	}{agentVersion, []action{{"SessionType", parameters{"InteractiveCommands", map[string]string{}}}}}) // likewise
	return payload
}

// actionSucceeded is the ActionStatus of what the client has done.
const actionSucceeded = 1

// CheckHandshakeResponse is why a client does not take part in a shell session, by the payload of its HandshakeResponse.
func CheckHandshakeResponse(payload []byte) error {
	var response struct {
		ProcessedClientActions []struct {
			ActionType   string
			ActionStatus int
			Error        string
		}
	}
	if err := json.Unmarshal(payload, &response); err != nil {
		return fmt.Errorf("%w: a handshake: %w", ErrMalformed, err)
	}
	for _, action := range response.ProcessedClientActions {
		if action.ActionType == "SessionType" && action.ActionStatus != actionSucceeded {
			return fmt.Errorf("the client knows no interactive sessions: %.200q", action.Error)
		}
	}
	return nil
}

// NewHandshakeComplete is the payload that ends a handshake; message is shown to the person at the client.
func NewHandshakeComplete(took time.Duration, message string) []byte {
	payload, _ := json.Marshal(struct {
		HandshakeTimeToComplete time.Duration
		CustomerMessage         string
	}{took, message}) // likewise
	return payload
}

// TerminalSize reads the payload of a Size: columns and rows.
func TerminalSize(payload []byte) (columns, rows uint16, err error) {
	var size struct{ Cols, Rows uint16 }
	if err := json.Unmarshal(payload, &size); err != nil {
		return 0, 0, fmt.Errorf("%w: a terminal's size: %w", ErrMalformed, err)
	}
	return size.Cols, size.Rows, nil
}

// Opening is the first message of a client on a connection, as text: it proves that the session is the client's.
type Opening struct {
	MessageSchemaVersion string `json:"MessageSchemaVersion"`
	RequestID            string `json:"RequestId"`
	TokenValue           string `json:"TokenValue"`
	ClientID             string `json:"ClientId"`
	ClientVersion        string `json:"ClientVersion"`
}

// uuid is an id as text.
func uuid(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
