package complete

import (
	"cmp"
	"strings"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// secretOffers are the names of secrets: to restore, of those that were removed, else of the others.
func secretOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	restored := s.line.command.Name == "restore"
	all, err := client.Secrets[client.Secret](s.ctx, inv.Client, restored)
	for _, secret := range all {
		if restored != secret.DeletedAt.IsZero() {
			offers = append(offers, offer{secret.Name, cmp.Or(secret.Description, age(inv, secret.ChangedAt.Time))})
		}
	}
	return offers, err
}

// taskSecretOffers are what --secret takes: behind NAME= any secret, else those whose names variables can have.
func taskSecretOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	name, _, named := strings.Cut(s.line.word, "=")
	all, err := secretOffers(s, inv)
	for _, o := range all {
		switch {
		case named:
			offers = append(offers, offer{name + "=" + o.value, o.about})
		case !strings.ContainsAny(o.value, "/-.+@"):
			offers = append(offers, o)
		}
	}
	return offers, err
}
