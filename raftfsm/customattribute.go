package raftfsm

import (
	"fmt"
	"maps"
)

// MaxCustom is how many custom attributes one host can have beside those that it brings itself.
const MaxCustom = 10

// ErrTooManyAttributes refuses custom attributes beyond MaxCustom.
var ErrTooManyAttributes = fmt.Errorf("a host can have %d custom attributes: delete some first", MaxCustom)

// HostAttribute is an attribute of one host. Value may be empty: the attribute is there and says no more.
type HostAttribute struct {
	HostID string `json:"hostId"`
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
}

// PutAttributes gives hosts custom attributes, each in place of the one of its name. They hide what the host itself says
// under that name, and outlive its return. ErrNotFound, ErrTooManyAttributes. Answer: nil.
type PutAttributes struct{ Attributes []HostAttribute }

func (c PutAttributes) apply(tx *tx) (any, error) {
	for _, attribute := range c.Attributes {
		err := tx.customise(attribute.HostID, func(custom map[string]string) { custom[attribute.Name] = attribute.Value })
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// DeleteAttributes takes custom attributes from hosts; one that is not there is no error. Values are not looked at.
// ErrNotFound. Answer: nil.
type DeleteAttributes struct{ Attributes []HostAttribute }

func (c DeleteAttributes) apply(tx *tx) (any, error) {
	for _, attribute := range c.Attributes {
		err := tx.customise(attribute.HostID, func(custom map[string]string) { delete(custom, attribute.Name) })
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// customise changes the custom attributes of a host.
func (tx *tx) customise(hostID string, change func(map[string]string)) error {
	known := tx.Host(hostID)
	if known == nil {
		return fmt.Errorf("host %q: %w", hostID, ErrNotFound)
	}
	custom := maps.Clone(known.Custom)
	if custom == nil {
		custom = map[string]string{}
	}
	change(custom)
	if len(custom) > MaxCustom {
		return fmt.Errorf("host %s (%s): %w", hostID, known.Name, ErrTooManyAttributes)
	}
	if maps.Equal(custom, known.Custom) {
		return nil
	}
	host := *known
	host.Custom = custom
	tx.change(&host)
	return nil
}
