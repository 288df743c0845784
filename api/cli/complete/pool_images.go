package complete

import (
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// poolImageOffers are the names of the images that hosts have.
func poolImageOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := client.Images[client.Image](s.ctx, inv.Client)
	for _, i := range all {
		offers = append(offers, offer{format.ImageName(i.Name), format.Bytes(i.Size) + ", " + format.Plural(len(i.Hosts), "host")})
	}
	return offers, err
}
