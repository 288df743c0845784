package wire

import (
	"errors"
	"fmt"
)

// Error is an error as clients see it: Type is the name that SDKs dispatch on ("ClientException"), Message is for people and
// says what is wrong with what, and what to do. Package httpx has the status of each type.
type Error struct {
	Type        string   `json:"__type"`
	Message     string   `json:"message"`
	ResourceIDs []string `json:"resourceIds,omitempty"` // ConflictException: the ARNs in the way
	Groups      []string `json:"groups,omitempty"`      // AccessDeniedException of a login: those of the person's groups of which one has to be chosen
	Path        string   `json:"-"`                     // of the member of the input that is wrong; empty where none is
}

// Errorf makes an Error.
func Errorf(errorType, format string, args ...any) *Error {
	return &Error{Type: errorType, Message: fmt.Sprintf(format, args...)}
}

// WithErrorType gives a ClientException the type that a service without one has for a field that is wrong. Other errors stay as they are.
func WithErrorType(errorType string, err error) error {
	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.Type != Client {
		return err
	}
	typed := *refusal
	typed.Type = errorType
	return &typed
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Types of errors that more than one package returns. The names are those of AWS.
const (
	Client               = "ClientException"
	InvalidParameter     = "InvalidParameterException"
	Serialization        = "SerializationException"
	Server               = "ServerException"
	AccessDenied         = "AccessDeniedException"
	ExpiredSecurityToken = "ExpiredTokenException"
	UnknownOperation     = "UnknownOperationException"
)
