package api

import (
	"context"
	"encoding/xml"
	"mime"
	"net/http"

	"pinion/api/auth"
	"pinion/api/cloudwatch"
	"pinion/api/elb"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/query"
	"pinion/raftfsm/accesskey"
)

// isQuery reports whether a request is in the query protocol, which AWS's older services speak.
func isQuery(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Header.Get("X-Amz-Target") == "" && kind == "application/x-www-form-urlencoded"
}

// ec2Service and ec2Version are those of Amazon EC2, of which there is one operation: Terraform asks for the network interfaces that a load balancer
// has left, and there are none.
const (
	ec2Service = "ec2"
	ec2Version = "2016-11-15"
)

// queryService is the service that a request in the query protocol must be signed for, by the version of the protocol in its body: what is found
// for the body and what the signature is for are the same service.
func queryService(body []byte) string {
	switch query.First(body, "Version") {
	case elb.Version:
		return elb.Service
	case cloudwatch.Version:
		return cloudwatch.Service
	case ec2Version:
		return ec2Service
	}
	return stsService
}

// byAction finds the operation of a request in the query protocol.
func (o *operationEndpoints) byAction(r *request) (*endpoint, error) {
	r.Format = httpx.QueryXML
	action := query.First(r.Body, "Action")
	switch service := queryService(r.Body); {
	case service == elb.Service:
		return o.loadBalancing(action), nil
	case service == cloudwatch.Service:
		return o.alarms(action, cloudwatch.Query), nil
	case service == ec2Service && action == "DescribeNetworkInterfaces":
		return &networkInterfaces, nil
	case service == stsService && action == "GetCallerIdentity":
		return &identity, nil
	}
	return nil, errNoAction(action, query.First(r.Body, "Version"))
}

// loadBalancing is the endpoint of an operation of Elastic Load Balancing. Load balancers are of the pool, so who changes them is an administrator
// of all of it.
func (o *operationEndpoints) loadBalancing(name string) *endpoint {
	operation, unknown := elb.Find(name)
	e := &endpoint{
		name: elb.Service + ":" + name, role: operation.Role(), unknown: unknown, writes: operation.Writes, scope: operation.Scope, list: operation.Lists, repeats: true, mode: leader.FollowerRead,
	}
	if e.writes {
		e.mode = leader.Linearizable
	}
	e.bind = func(r *request) (call, error) {
		return call{run: func(ctx context.Context) error {
			in := &elb.Request{Principal: r.Resolution.Principal, View: r.View, Store: o.store, Now: o.now}
			text, err := operation.Run(ctx, in, r.Body, r.ID)
			if err != nil {
				return err
			}
			r.ReplyEncoded(http.StatusOK, text)
			return nil
		}}, nil
	}
	return e
}

// networkInterfaces is ec2:DescribeNetworkInterfaces.
var networkInterfaces = endpoint{
	name: ec2Service + ":DescribeNetworkInterfaces", mode: leader.FollowerRead, role: accesskey.RoleRead, scope: auth.Unscoped,
	bind: func(r *request) (call, error) {
		return call{run: func(context.Context) error {
			text, err := xml.Marshal(struct {
				XMLName    xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeNetworkInterfacesResponse"`
				RequestID  string   `xml:"requestId"`
				Interfaces struct{} `xml:"networkInterfaceSet"`
			}{RequestID: r.ID})
			if err != nil {
				return err
			}
			r.ReplyEncoded(http.StatusOK, text)
			return nil
		}}, nil
	},
}
