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
	return nil, tx.changeAttributes(c.Attributes, func(custom map[string]string, a spec.HostAttribute) { custom[a.Name] = a.Value })
}

// DeleteAttributes removes custom attributes from hosts by name; values are ignored, and a missing one is no error.
// ErrNotFound. Answer: nil.
type DeleteAttributes struct{ Attributes []spec.HostAttribute }

func (c DeleteAttributes) apply(tx *tx) (any, error) {
	return nil, tx.changeAttributes(c.Attributes, func(custom map[string]string, a spec.HostAttribute) { delete(custom, a.Name) })
}

// changeAttributes changes the custom attributes of hosts.
func (tx *tx) changeAttributes(attributes []spec.HostAttribute, change func(custom map[string]string, a spec.HostAttribute)) error {
	for _, attribute := range attributes {
		known := tx.Host(attribute.HostID)
		if known == nil {
			return fmt.Errorf("host %q: %w", attribute.HostID, spec.ErrNotFound)
		}
		custom, err := known.ChangedAttributes(func(custom map[string]string) { change(custom, attribute) })
		if err != nil {
			return err
		}
		if !maps.Equal(custom, known.CustomAttributes) {
			host := *known
			host.CustomAttributes = custom
			tx.updateHost(&host)
		}
	}
	return nil
}
