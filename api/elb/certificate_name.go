package elb

import (
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// certificateName is the form of the names of files of certificates.
var certificateName = lazyregexp.New(`^[A-Za-z0-9*_][A-Za-z0-9*._-]{0,127}$`)

// acmeName is the form of the names of certificates that come by ACME: a DNS name of two labels at least, in lower case.
var acmeName = lazyregexp.New(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// certificatesIn are the certificates of a request: names, or ARNs that end in /NAME or /acme/DNSNAME.
func certificatesIn(in form) (all []loadbalancer.Certificate, err error) {
	given, err := in.structures("Certificates")
	if err != nil {
		return nil, err
	}
	for _, one := range given {
		arn := one.text("CertificateArn")
		name, ok := nameOfCertificate(arn)
		if !ok {
			return nil, wire.Errorf("CertificateNotFound", "Certificate '%s' not found: write arn:aws:acm:REGION:%s:certificate/NAME, where NAME.crt and NAME.key lie in each host's directory of certificates, or .../%sDNSNAME for one by ACME", arn, spec.AccountID, traffic.ACMEPrefix)
		}
		all = append(all, loadbalancer.Certificate{ARN: arn, Name: name})
	}
	return all, nil
}

// nameOfCertificate is the name in an ARN, or in what stands for one.
func nameOfCertificate(arn string) (name string, ok bool) {
	name = arn
	if strings.HasPrefix(arn, "arn:") {
		if _, name, ok = strings.Cut(arn, "certificate/"); !ok {
			return "", false
		}
	}
	if host, is := strings.CutPrefix(name, traffic.ACMEPrefix); is {
		return name, len(host) <= 253 && acmeName.MatchString(host)
	}
	return name, certificateName.MatchString(name)
}
