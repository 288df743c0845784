package spec

import "fmt"

// MaxCustomAttributes bounds the custom attributes of a host, beside its own.
const MaxCustomAttributes = 10

// ErrTooManyAttributes refuses custom attributes beyond MaxCustom.
var ErrTooManyAttributes = fmt.Errorf("a host can have %d custom attributes: delete some first", MaxCustomAttributes)

// HostAttribute is an attribute of one host. Value may be empty: the attribute is there and says no more.
type HostAttribute struct {
	HostID string `json:"hostId"`
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
}
