package metadata

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// callTimeout bounds a call to the pool's leader.
const callTimeout = 4 * time.Second

// The default and the longest protection of a task, in minutes.
const (
	defaultProtection = 120
	maxProtection     = 2880
)

type protectionInput struct {
	ProtectionEnabled *bool
	ExpiresInMinutes  *int
}

type protectionAnswer struct {
	Protection *protectionDocument `json:"protection,omitempty"`
	Failure    *protectionFailure  `json:"failure,omitempty"`
	Error      *protectionError    `json:"error,omitempty"`
}

type protectionFailure struct{ Arn, Reason string }

type protectionDocument struct {
	ProtectionEnabled bool
	ExpirationDate    *time.Time `json:",omitempty"`
	TaskArn           string
}

type protectionError struct {
	Arn     string `json:",omitempty"`
	Code    string
	Message string
}

func (c *container) protection(w http.ResponseWriter, r *http.Request) { c.answerProtection(w, r, nil) }

// protect keeps the task from being stopped by its service, or ends that.
func (c *container) protect(w http.ResponseWriter, r *http.Request) {
	if !c.changes.Allow() {
		reply(w, http.StatusTooManyRequests, "too many requests")
		return
	}
	var in protectionInput
	text := new(bytes.Buffer)
	_, err := text.ReadFrom(r.Body)
	decoder := json.NewDecoder(text)
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(&in)
	}
	minutes := defaultProtection
	if in.ExpiresInMinutes != nil {
		minutes = *in.ExpiresInMinutes
	}
	switch {
	case err != nil:
		c.refuseProtection(w, "UpdateTaskProtection: failed to decode request: "+err.Error())
		return
	case in.ProtectionEnabled == nil:
		c.refuseProtection(w, "Invalid request: does not contain 'ProtectionEnabled' field")
		return
	case minutes < 1 || minutes > maxProtection:
		c.refuseProtection(w, "Invalid request: ExpiresInMinutes is 1 to 2880")
		return
	}
	until := time.Time{}
	if *in.ProtectionEnabled {
		until = time.Now().Add(time.Duration(minutes) * time.Minute).UTC().Truncate(time.Second)
	}
	c.answerProtection(w, r, &until)
}

func (c *container) answerProtection(w http.ResponseWriter, r *http.Request, until *time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout) // a client that has sent everything may have closed its direction
	defer cancel()
	protected, refusal, err := c.service.config.Protection(ctx, c.taskID, until)
	switch {
	case err != nil:
		c.service.config.Log.Warn("a task was not told of its protection", "task", c.taskID, "error", err)
		reply(w, http.StatusInternalServerError, protectionAnswer{Error: &protectionError{Arn: c.taskARN, Code: "ServerException", Message: "the pool does not answer: try again"}})
		return
	case refusal != "":
		reply(w, http.StatusOK, protectionAnswer{Failure: &protectionFailure{c.taskARN, refusal}})
		return
	}
	reply(w, http.StatusOK, protectionAnswer{Protection: &protectionDocument{ProtectionEnabled: protected.After(time.Now()), ExpirationDate: moment(protected), TaskArn: c.taskARN}})
}

func (c *container) refuseProtection(w http.ResponseWriter, message string) {
	reply(w, http.StatusBadRequest, protectionAnswer{Error: &protectionError{Arn: c.taskARN, Code: "InvalidParameterException", Message: message}})
}
