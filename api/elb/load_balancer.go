package elb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
)

// loadBalancerView is a load balancer as clients see it.
type loadBalancerView struct {
	LoadBalancerArn       string
	DNSName               string
	CanonicalHostedZoneId string
	CreatedTime           string
	LoadBalancerName      string
	Scheme                string
	VpcId                 string
	State                 struct{ Code string }
	Type                  string
	AvailabilityZones     []zoneView `xml:"AvailabilityZones>member"`
	SecurityGroups        []string   `xml:"SecurityGroups>member"`
	IpAddressType         string
}

type zoneView struct {
	ZoneName string
	SubnetId string
}

// What ELB has of networks and Pinion has not.
const (
	vpc        = "vpc-pinion"
	hostedZone = "ZPINION"
)

// DNSName is the name of a load balancer. Who wants to use it points it at the hosts of the pool.
func DNSName(b *loadbalancer.LoadBalancer) string {
	return strings.ToLower(b.Name) + "-" + b.ID + ".elb.pinion.internal"
}

func (r *Request) showLoadBalancer(b *loadbalancer.LoadBalancer) loadBalancerView {
	v := loadBalancerView{
		LoadBalancerArn: r.loadBalancerARN(b), DNSName: DNSName(b), CanonicalHostedZoneId: hostedZone, CreatedTime: b.CreatedAt.UTC().Format(time.RFC3339),
		LoadBalancerName: b.Name, Scheme: b.Scheme, VpcId: vpc, Type: string(b.Type), SecurityGroups: b.SecurityGroups, IpAddressType: b.AddressType,
	}
	v.State.Code = "active"
	for _, subnet := range b.Subnets {
		v.AvailabilityZones = append(v.AvailabilityZones, zoneView{r.Principal.Region + "a", subnet})
	}
	return v
}

type loadBalancersView struct {
	LoadBalancers []loadBalancerView `xml:"LoadBalancers>member"`
	NextMarker    string             `xml:",omitempty"`
}

func (r *Request) showLoadBalancers(all ...*loadbalancer.LoadBalancer) (v loadBalancersView) {
	for _, b := range all {
		v.LoadBalancers = append(v.LoadBalancers, r.showLoadBalancer(b))
	}
	return v
}

func describeLoadBalancers(_ context.Context, r *Request, in form) (any, error) {
	found, err := named(in, "LoadBalancerArns", "Names", loadbalancer.Resource,
		func(id string) *loadbalancer.LoadBalancer { return loadbalancer.Find(r.View, id) },
		func(name string) *loadbalancer.LoadBalancer { return loadbalancer.Named(r.View, name) }, loadbalancer.All(r.View), errNoLoadBalancer)
	if err != nil {
		return nil, err
	}
	some, next, err := page(in, found)
	v := r.showLoadBalancers(some...)
	v.NextMarker = next
	return v, err
}

// objectName is ELB's form of the names of load balancers and target groups.
var objectName = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`)

func nameIn(in form) (string, error) {
	name, err := in.required("Name")
	if err == nil && (!objectName.MatchString(name) || strings.HasPrefix(name, "internal-")) {
		err = invalid("Name must be 1 to 32 letters, digits and hyphens, without one at its ends, and not begin with internal-: not %q.", name)
	}
	return name, err
}

// createLoadBalancer is idempotent, as on ELB: a load balancer of that name that was asked for in the same way is answered as it is.
func createLoadBalancer(ctx context.Context, r *Request, in form) (any, error) {
	b, err := newLoadBalancer(r, in)
	if err != nil {
		return nil, err
	}
	if known := loadbalancer.Named(r.View, b.Name); known != nil && known.Type == b.Type && known.Scheme == b.Scheme && slices.Equal(known.Subnets, b.Subnets) && slices.Equal(known.Tags, b.Tags) {
		return r.showLoadBalancers(known), nil
	}
	_, err = r.Store.Propose(ctx, raftfsm.Wrap(loadbalancer.Create{LoadBalancer: *b}))
	if errors.Is(err, loadbalancer.ErrNameTaken) {
		return nil, wire.Errorf("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", b.Name)
	}
	if err = as(err, spec.ErrLimit, "TooManyLoadBalancers"); err != nil {
		return nil, refusalOf(err)
	}
	return r.showLoadBalancers(b), nil
}

func newLoadBalancer(r *Request, in form) (b *loadbalancer.LoadBalancer, err error) {
	b = &loadbalancer.LoadBalancer{ID: newID(), CreatedAt: r.Now(), CreatedBy: r.Principal.ARN}
	if b.Name, err = nameIn(in); err != nil {
		return nil, err
	}
	if in.text("Type") == "gateway" {
		return nil, refused("load balancers of the type gateway are not supported: use application or network.")
	}
	kind, err := in.oneOf("Type", string(loadbalancer.Application), string(loadbalancer.Network))
	if err != nil {
		return nil, err
	}
	b.Type = loadbalancer.Type(kind)
	if b.Scheme, err = in.oneOf("Scheme", "internet-facing", "internal"); err != nil {
		return nil, err
	}
	if b.AddressType, err = in.oneOf("IpAddressType", "ipv4", "dualstack"); err != nil {
		return nil, err
	}
	if b.Subnets, err = subnetsIn(in); err != nil {
		return nil, err
	}
	if b.SecurityGroups, err = in.list("SecurityGroups"); err != nil {
		return nil, err
	}
	if b.Tags, err = tagsIn(in); err != nil {
		return nil, err
	}
	return b, cmp.Or(in.unsupported("CustomerOwnedIpv4Pool", "hosts have their own addresses."), in.unsupported("IpamPools", "hosts have their own addresses."))
}

// subnetsIn are the subnets that a request names, which mean nothing here.
func subnetsIn(in form) ([]string, error) {
	subnets, err := in.list("Subnets")
	if err != nil {
		return nil, err
	}
	mappings, err := in.structures("SubnetMappings")
	for _, m := range mappings {
		for _, address := range []string{"AllocationId", "PrivateIPv4Address", "IPv6Address"} {
			if err := m.unsupported(address, "hosts have their own addresses."); err != nil {
				return nil, err
			}
		}
		subnets = append(subnets, m.text("SubnetId"))
	}
	return subnets, err
}

func deleteLoadBalancer(ctx context.Context, r *Request, in form) (any, error) {
	b, err := r.findLoadBalancer(in)
	if err == nil && b.Attributes[deletionProtection] == "true" {
		return nil, wire.Errorf("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", r.loadBalancerARN(b))
	}
	if refusal, is := errors.AsType[*wire.Error](err); is && refusal.Type == "LoadBalancerNotFound" {
		return empty{}, nil // as on ELB
	}
	if err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.Delete{LoadBalancer: b.ID})
	return empty{}, err
}

func setSubnets(ctx context.Context, r *Request, in form) (any, error) {
	subnets, err := subnetsIn(in)
	if err != nil {
		return nil, err
	}
	updated, err := r.updateLoadBalancer(ctx, in, loadbalancer.Update{Subnets: subnets})
	if err != nil {
		return nil, err
	}
	view := r.showLoadBalancer(updated)
	return struct {
		AvailabilityZones []zoneView `xml:"AvailabilityZones>member"`
		IpAddressType     string
	}{view.AvailabilityZones, view.IpAddressType}, nil
}

func setSecurityGroups(ctx context.Context, r *Request, in form) (any, error) {
	groups, err := in.list("SecurityGroups")
	if err != nil {
		return nil, err
	}
	updated, err := r.updateLoadBalancer(ctx, in, loadbalancer.Update{SecurityGroups: groups})
	if err != nil {
		return nil, err
	}
	return struct {
		SecurityGroupIds []string `xml:"SecurityGroupIds>member"`
	}{updated.SecurityGroups}, nil
}

func setAddressType(ctx context.Context, r *Request, in form) (any, error) {
	kind, err := in.oneOf("IpAddressType", "ipv4", "dualstack")
	if err != nil {
		return nil, err
	}
	updated, err := r.updateLoadBalancer(ctx, in, loadbalancer.Update{AddressType: kind})
	if err != nil {
		return nil, err
	}
	return struct{ IpAddressType string }{updated.AddressType}, nil
}

// updateLoadBalancer carries out an update of the load balancer that a request names.
func (r *Request) updateLoadBalancer(ctx context.Context, in form, update loadbalancer.Update) (*loadbalancer.LoadBalancer, error) {
	b, err := r.findLoadBalancer(in)
	if err != nil {
		return nil, err
	}
	update.ID = b.ID
	return change[*loadbalancer.LoadBalancer](ctx, r, update)
}

// describeCapacityReservation tells that there is none.
func describeCapacityReservation(_ context.Context, r *Request, in form) (any, error) {
	_, err := r.findLoadBalancer(in)
	return struct{ DecreaseRequestsRemaining int }{}, err
}

// describeAccountLimits tells the bounds of a pool.
func describeAccountLimits(context.Context, *Request, form) (any, error) {
	type limit struct{ Name, Max string }
	return struct {
		Limits []limit `xml:"Limits>member"`
	}{[]limit{
		{"application-load-balancers", itoa(loadbalancer.MaxLoadBalancers)}, {"target-groups", itoa(loadbalancer.MaxGroups)},
		{"listeners-per-application-load-balancer", itoa(loadbalancer.MaxListeners)}, {"rules-per-application-load-balancer", itoa(loadbalancer.MaxRules)},
		{"targets-per-application-load-balancer", itoa(loadbalancer.MaxTargets)},
	}}, nil
}
