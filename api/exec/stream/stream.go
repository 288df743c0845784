// Package stream is the format of Pinion's own exec sessions: messages of a WebSocket, each a byte that says its kind and what follows from
// it. Unlike a data channel of AWS it has standard error apart, an end of the input, and exit codes.
package stream

import "encoding/json"

// Kind says what a message is.
type Kind byte

// Kinds of messages from the client.
const (
	Stdin      Kind = 0 // input of the command
	StdinEnd   Kind = 1 // there is no more input
	Resize     Kind = 2 // a TerminalSize as JSON
	KeepAlive  Kind = 3 // means nothing; the connection is in use
	Pause      Kind = 4 // the client takes no output for now: a browser cannot leave messages unread
	Resume     Kind = 5 // it takes output again
	firstReply Kind = 16
)

// Kinds of messages from the host.
const (
	Stdout Kind = firstReply + iota // output of the command; all of it where there is a terminal
	Stderr                          // its standard error
	Exit                            // an Outcome as JSON; the last message
)

// MaxMessage is the most bytes of one message.
const MaxMessage = 32 << 10

// TerminalSize is the payload of a Resize.
type TerminalSize struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// Outcome is how a session ended.
type Outcome struct {
	ExitCode int    `json:"exitCode"` // of the command; meaningless with an Error
	Error    string `json:"error,omitempty"`
}

// JSON is a message with v as JSON, which has no members that cannot be marshalled.
func JSON(kind Kind, v any) []byte {
	text, _ := json.Marshal(v)
	return append([]byte{byte(kind)}, text...)
}
