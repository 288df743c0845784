package elb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// listenerView is a listener as clients see it.
type listenerView struct {
	ListenerArn     string
	LoadBalancerArn string
	Port            int
	Protocol        string
	Certificates    []certificateView `xml:"Certificates>member"`
	SslPolicy       string            `xml:",omitempty"`
	DefaultActions  []actionView      `xml:"DefaultActions>member"`
}

type certificateView struct {
	CertificateArn string
	IsDefault      *bool `xml:",omitempty"`
}

// standardPolicy is what a listener of TLS has for which nothing else was said.
const standardPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"

// showListener shows a listener whose default action is given.
func (r *Request) showListener(l *loadbalancer.Listener, action *traffic.Action) listenerView {
	v := listenerView{
		ListenerArn: r.listenerARN(l), Port: l.Port, Protocol: string(l.Protocol), SslPolicy: l.Policy, DefaultActions: r.showActions(action),
	}
	if b := loadbalancer.Find(r.View, l.LoadBalancer); b != nil {
		v.LoadBalancerArn = r.loadBalancerARN(b)
	}
	if len(l.Certificates) > 0 {
		v.Certificates = []certificateView{{CertificateArn: l.Certificates[0].ARN}}
	}
	return v
}

type listenersView struct {
	Listeners  []listenerView `xml:"Listeners>member"`
	NextMarker string         `xml:",omitempty"`
}

// defaultAction is the action of the default rule of a listener.
func (r *Request) defaultAction(l *loadbalancer.Listener) *traffic.Action {
	rules := loadbalancer.Rules(r.View, l.ID)
	return &rules[len(rules)-1].Action
}

func describeListeners(_ context.Context, r *Request, in form) (any, error) {
	var all []*loadbalancer.Listener
	switch {
	case in.has("ListenerArns") == in.has("LoadBalancerArn"):
		return nil, invalid("You must specify either listener ARNs or a load balancer ARN")
	case in.has("LoadBalancerArn"):
		b, err := r.findLoadBalancer(in)
		if err != nil {
			return nil, err
		}
		all = loadbalancer.Listeners(r.View, b.ID)
	}
	found, err := named(in, "ListenerArns", "", loadbalancer.ResourceListener, func(id string) *loadbalancer.Listener { return loadbalancer.FindListener(r.View, id) }, nil, all,
		func(string) error { return errNoListener })
	if err != nil {
		return nil, err
	}
	some, next, err := page(in, found)
	v := listenersView{NextMarker: next}
	for _, l := range some {
		v.Listeners = append(v.Listeners, r.showListener(l, r.defaultAction(l)))
	}
	return v, err
}

func createListener(ctx context.Context, r *Request, in form) (any, error) {
	b, err := r.findLoadBalancer(in)
	if err != nil {
		return nil, err
	}
	l := loadbalancer.Listener{ID: newID(), LoadBalancer: b.ID, CreatedAt: r.Now()}
	if l.Port, err = in.number("Port", 1, maxPort, 0); err == nil && l.Port == 0 {
		err = invalid("A listener port must be specified")
	}
	if err != nil {
		return nil, err
	}
	if l.Protocol, err = protocolIn(in); err == nil && l.Protocol == "" {
		err = invalid("A listener protocol must be specified")
	}
	if err != nil {
		return nil, err
	}
	if err := listenerUnsupported(in); err != nil {
		return nil, err
	}
	if l.Certificates, err = certificatesIn(in); err != nil {
		return nil, err
	}
	if l.Tags, err = tagsIn(in); err != nil {
		return nil, err
	}
	if l.Protocol.EndsTLS() {
		l.Policy = cmp.Or(in.text("SslPolicy"), standardPolicy)
	} else if len(l.Certificates) > 0 || in.has("SslPolicy") {
		return nil, wire.Errorf("InvalidConfigurationRequest", "A listener of %s has no certificate and no SslPolicy: use HTTPS or TLS", l.Protocol)
	}
	action, err := r.actionIn(in, "DefaultActions")
	if err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.CreateListener{Listener: l, Default: loadbalancer.Rule{ID: newID(), Listener: l.ID, Action: *action, CreatedAt: r.Now()}})
	if err = as(err, spec.ErrLimit, "TooManyListeners"); err != nil {
		return nil, err
	}
	return listenersView{Listeners: []listenerView{r.showListener(&l, action)}}, nil
}

func modifyListener(ctx context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	update := loadbalancer.UpdateListener{ID: l.ID}
	if update.Port, err = in.number("Port", 1, maxPort, 0); err != nil {
		return nil, err
	}
	if update.Protocol, err = protocolIn(in); err != nil {
		return nil, err
	}
	if err := listenerUnsupported(in); err != nil {
		return nil, err
	}
	standard, err := certificatesIn(in)
	if err != nil {
		return nil, err
	}
	if len(standard) > 0 { // the others stay
		update.Certificates = append(standard, without(l.Certificates[min(1, len(l.Certificates)):], standard)...)
	}
	protocol := cmp.Or(update.Protocol, l.Protocol)
	if update.Policy = in.text("SslPolicy"); update.Policy == "" && protocol.EndsTLS() && l.Policy == "" {
		update.Policy = standardPolicy
	}
	action := r.defaultAction(l)
	if in.has("DefaultActions") {
		if update.Default, err = r.actionIn(in, "DefaultActions"); err != nil {
			return nil, err
		}
		action = update.Default
	}
	updated, err := change[*loadbalancer.Listener](ctx, r, update)
	if err != nil {
		return nil, as(err, spec.ErrNotFound, errNoListener.Type)
	}
	return listenersView{Listeners: []listenerView{r.showListener(updated, action)}}, nil
}

func deleteListener(ctx context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.Delete{Listener: l.ID})
	return empty{}, err
}

// protocolIn is the protocol of a listener, empty when there is none.
func protocolIn(in form) (traffic.Protocol, error) {
	switch p := traffic.Protocol(in.text("Protocol")); p {
	case "", traffic.HTTP, traffic.HTTPS, traffic.TCP, traffic.TLS:
		return p, nil
	default:
		return "", refused("listeners of %s are not supported: use HTTP or HTTPS with an application load balancer, TCP or TLS with a network one.", p)
	}
}

// listenerUnsupported refuses what listeners cannot do.
func listenerUnsupported(in form) error {
	if mode := in.text("MutualAuthentication.Mode"); mode != "" && mode != "off" {
		return refused("MutualAuthentication is not supported: listeners ask clients for no certificates.")
	}
	alpn, err := in.list("AlpnPolicy")
	if slices.ContainsFunc(alpn, func(p string) bool { return p != "None" }) {
		return refused("AlpnPolicy is not supported: a listener of TLS passes bytes on.")
	}
	return err
}

// without are the certificates whose ARN none of the others has.
func without(all, others []loadbalancer.Certificate) []loadbalancer.Certificate {
	return slices.DeleteFunc(slices.Clone(all), func(c loadbalancer.Certificate) bool {
		return slices.ContainsFunc(others, func(o loadbalancer.Certificate) bool { return o.ARN == c.ARN })
	})
}

type certificatesView struct {
	Certificates []certificateView `xml:"Certificates>member"`
	NextMarker   string            `xml:",omitempty"`
}

func showCertificates(all []loadbalancer.Certificate) (v certificatesView) {
	for i, c := range all {
		standard := i == 0
		v.Certificates = append(v.Certificates, certificateView{c.ARN, &standard})
	}
	return v
}

func describeListenerCertificates(_ context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	return showCertificates(l.Certificates), nil
}

// maxCertificates of a listener, beside the default one; ELB's.
const maxCertificates = 25

func addListenerCertificates(ctx context.Context, r *Request, in form) (any, error) {
	return r.changeCertificates(ctx, in, func(known, given []loadbalancer.Certificate) ([]loadbalancer.Certificate, error) {
		all := append(slices.Clone(known), without(given, known)...)
		if len(all) > maxCertificates+1 {
			return nil, wire.Errorf("TooManyCertificates", "A listener can have %d certificates beside the default one", maxCertificates)
		}
		return all, nil
	})
}

func removeListenerCertificates(ctx context.Context, r *Request, in form) (any, error) {
	return r.changeCertificates(ctx, in, func(known, given []loadbalancer.Certificate) ([]loadbalancer.Certificate, error) {
		left := without(known, given)
		if len(known) > 0 && (len(left) == 0 || left[0].ARN != known[0].ARN) {
			return nil, wire.Errorf("OperationNotPermitted", "The default certificate of a listener cannot be removed: put another one in its place with ModifyListener")
		}
		return left, nil
	})
}

func (r *Request) changeCertificates(ctx context.Context, in form, edit func(known, given []loadbalancer.Certificate) ([]loadbalancer.Certificate, error)) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	given, err := certificatesIn(in)
	if err != nil {
		return nil, err
	}
	if !l.Protocol.EndsTLS() {
		return nil, wire.Errorf("InvalidConfigurationRequest", "A listener of %s has no certificates", l.Protocol)
	}
	all, err := edit(l.Certificates, given)
	if err != nil {
		return nil, err
	}
	updated, err := change[*loadbalancer.Listener](ctx, r, loadbalancer.UpdateListener{ID: l.ID, Certificates: all})
	if errors.Is(err, spec.ErrNotFound) {
		return nil, errNoListener
	}
	if err != nil {
		return nil, err
	}
	return showCertificates(updated.Certificates), nil
}
