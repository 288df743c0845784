// Package valuefrom has the secrets of a container definition: what ECS's valueFrom names, and how a value becomes the one of a variable. The state
// keeps what is named in package secret.
package valuefrom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Secret is a member of the secrets of a container definition.
type Secret struct {
	Name      string `json:"name"` // of the variable, or of the file
	ValueFrom string `json:"valueFrom"`
}

// Store is the kind of store that keeps a value.
type Store string

// The stores that a reference may name.
const (
	ParameterStore Store = "ssm"
	SecretsManager Store = "secretsmanager"
	// AnyStore is that of a name without a store: the parameter of the name, or the secret if there is no such parameter. On ECS it is always a
	// parameter.
	AnyStore Store = ""
	// Command is a program of the task's host, which prints values that other systems keep.
	Command Store = "command"
)

// Reference is the value that a valueFrom names.
type Reference struct {
	Store   Store
	Name    string // as it was given: that of a secret may end in the suffix of its ARN
	JSONKey string // of the member of a JSON object that is the value; empty: the whole is
	// Version is of a parameter its number or label, of a secret the id of its version; Stage is the stage of a secret's version. Both empty: the
	// current one.
	Version, Stage string
}

// CommandPrefix begins the valueFrom of a Command: pinion:command:NAME:REFERENCE.
const CommandPrefix = "pinion:command:"

// maxLength bounds a valueFrom: the longest name that a store allows, within an ARN.
const maxLength = 2048

// Parse reads a valueFrom: a name or an ARN, of Systems Manager with an optional ":VERSION", of Secrets Manager with an optional
// ":JSON-KEY:STAGE:VERSION". Account and region count for nothing: a pool has one of each.
func Parse(valueFrom string) (Reference, error) {
	if len(valueFrom) > maxLength || strings.ContainsFunc(valueFrom, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Reference{}, fmt.Errorf("valueFrom has blanks or control characters, or more than %d bytes", maxLength)
	}
	if rest, is := strings.CutPrefix(valueFrom, CommandPrefix); is {
		name, reference, _ := strings.Cut(rest, ":")
		if name == "" || reference == "" || reference[0] == '-' {
			return Reference{}, fmt.Errorf("valueFrom %.300q does not say what the command is asked for: %sNAME:REFERENCE, with a reference that does not begin with -", valueFrom, CommandPrefix)
		}
		return Reference{Store: Command, Name: name, Version: reference}, nil
	}
	if strings.HasPrefix(valueFrom, "arn:") {
		return parseARN(valueFrom)
	}
	name, version, versioned := strings.Cut(valueFrom, ":")
	if name == "" || versioned && !isVersion(version) {
		return Reference{}, fmt.Errorf("valueFrom %.300q is not NAME, or NAME:VERSION with the number or the label of a parameter's version; "+
			"arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME:KEY:: names the member KEY of a secret's JSON object", valueFrom)
	}
	return Reference{Name: name, Version: version}, nil
}

func parseARN(arn string) (Reference, error) {
	wrong := fmt.Errorf("valueFrom %.300q is neither the ARN of a parameter (arn:aws:ssm:REGION:ACCOUNT:parameter/NAME) nor of a secret "+
		"(arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME[:JSON-KEY:STAGE:VERSION])", arn)
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 {
		return Reference{}, wrong
	}
	switch resource := fields[5]; Store(fields[2]) {
	case ParameterStore:
		name, version, versioned := strings.Cut(resource, ":")
		name, is := strings.CutPrefix(name, "parameter/")
		if !is || name == "" || name[0] == '/' || versioned && !isVersion(version) {
			return Reference{}, wrong
		}
		if strings.Contains(name, "/") {
			name = "/" + name // only a name of one level may begin without
		}
		return Reference{Store: ParameterStore, Name: name, Version: version}, nil
	case SecretsManager:
		parts := strings.Split(resource, ":")
		if parts[0] != "secret" || len(parts) != 2 && len(parts) != 5 || parts[1] == "" {
			return Reference{}, wrong
		}
		r := Reference{Store: SecretsManager, Name: parts[1]}
		if len(parts) == 5 {
			r.JSONKey, r.Stage, r.Version = parts[2], parts[3], parts[4]
		}
		return r, nil
	}
	return Reference{}, wrong
}

// isVersion reports whether a text is the number or the label of a parameter's version.
func isVersion(text string) bool {
	return text != "" && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-") == ""
}

// String names the reference for people.
func (r Reference) String() string {
	text := map[Store]string{ParameterStore: "parameter ", SecretsManager: "secret ", AnyStore: "parameter or secret ", Command: "command "}[r.Store] + r.Name
	if r.Stage != "" {
		text += ", stage " + r.Stage
	}
	if r.Version != "" && r.Store != Command {
		text += ", version " + r.Version
	}
	return text
}

// Number is the number of a parameter's version; ok is false for a label.
func (r Reference) Number() (number int64, ok bool) {
	number, err := strconv.ParseInt(r.Version, 10, 64)
	return number, err == nil
}

// Extract is the part of a secret's value that the reference means. Of a JSON object that is a member: a string without its quotes, anything else as
// it is written. Errors do not tell the value.
func (r Reference) Extract(value string) (string, error) {
	if r.JSONKey == "" {
		return value, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &members); err != nil {
		return "", fmt.Errorf("%v is no JSON object, so it has no key %.255q", r, r.JSONKey)
	}
	member, has := members[r.JSONKey]
	if !has {
		return "", fmt.Errorf("%v: retrieved secret from Secrets Manager did not contain json key %.255q", r, r.JSONKey)
	}
	var text string
	if json.Unmarshal(member, &text) == nil && !bytes.Equal(member, []byte("null")) {
		return text, nil
	}
	return string(member), nil
}

// ErrUnresolved is wrapped by the errors for secrets that a task cannot have, however often it asks.
var ErrUnresolved = errors.New("the task cannot have it")

// Value is the value of a container's secret.
type Value struct {
	Container string `json:"container"`
	Name      string `json:"name"`
	Value     []byte `json:"value"`
}
