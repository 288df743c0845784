package complete

import (
	"strings"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// poolImageOffers are the names of the images that hosts have.
func poolImageOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := client.Images[client.Image](s.ctx, inv.Client)
	for _, i := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(i.Name, "docker.io/"), "library/")
		offers = append(offers, offer{name, format.Bytes(i.Size) + ", " + format.Plural(len(i.Hosts), "host")})
	}
	return offers, err
}
