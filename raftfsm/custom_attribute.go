package raftfsm

import (
	"fmt"
	"maps"

	"pinion/raftfsm/spec"
)

// PutAttributes adds custom attributes to hosts and replaces those of the same name. They override the attributes that the
// host reports, and are kept when the host joins again. ErrNotFound, ErrTooManyAttributes. Answer: nil.
type PutAttributes struct{ Attributes []spec.HostAttribute }

func (c PutAttributes) apply(tx *tx) (any, error) {
	for _, attribute := range c.Attributes {
		err := tx.updateCustomAttributes(attribute.HostID, func(custom map[string]string) { custom[attribute.Name] = attribute.Value })
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// DeleteAttributes removes custom attributes from hosts by name; values are ignored, and a missing one is no error.
// ErrNotFound. Answer: nil.
type DeleteAttributes struct{ Attributes []spec.HostAttribute }

func (c DeleteAttributes) apply(tx *tx) (any, error) {
	for _, attribute := range c.Attributes {
		err := tx.updateCustomAttributes(attribute.HostID, func(custom map[string]string) { delete(custom, attribute.Name) })
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// updateCustomAttributes changes the custom attributes of a host.
func (tx *tx) updateCustomAttributes(hostID string, change func(map[string]string)) error {
	known := tx.Host(hostID)
	if known == nil {
		return fmt.Errorf("host %q: %w", hostID, spec.ErrNotFound)
	}
	custom, err := known.ChangedAttributes(change)
	if err != nil || maps.Equal(custom, known.CustomAttributes) {
		return err
	}
	host := *known
	host.CustomAttributes = custom
	tx.updateHost(&host)
	return nil
}
