package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// fakePool has services by their ids, each with revisions of its own.
type fakePool struct {
	clusters  []*spec.Cluster
	services  []*Service
	revisions map[string]*Revision
}

func (p *fakePool) Clusters() []*spec.Cluster           { return p.clusters }
func (p *fakePool) Services(string) []*Service          { return append([]*Service(nil), p.services...) }
func (p *fakePool) ServiceRevision(id string) *Revision { return p.revisions[id] }

// deploy makes a revision with endpoints the PRIMARY one of a service, and has it hold the names. An endpoint is PORT[/DISCOVERY][=ALIAS:PORT].
func (p *fakePool) deploy(s *Service, namespace string, endpoints ...string) error {
	c := &Connect{Namespace: namespace}
	for _, text := range endpoints {
		ports, alias, aliased := strings.Cut(text, "=")
		port, name, _ := strings.Cut(ports, "/")
		e := Endpoint{PortName: port, Name: name, Container: "main", Port: 8000}
		if aliased {
			a := Alias{}
			a.Name, _, _ = strings.Cut(alias, ":")
			fmt.Sscan(alias[strings.Index(alias, ":")+1:], &a.Port)
			e.Aliases = append(e.Aliases, a)
		}
		c.Endpoints = append(c.Endpoints, e)
	}
	id := fmt.Sprint(len(p.revisions))
	p.revisions[id] = &Revision{ID: id, Connect: c}
	after := *s
	after.Deployments = append([]Deployment{{ID: id}}, s.Deployments...)
	if err := after.HoldNames(p); err != nil {
		return err
	}
	*s = after
	return nil
}

func (p *fakePool) service(cluster string) *Service {
	s := &Service{ID: fmt.Sprint(len(p.services)), Cluster: cluster, Name: fmt.Sprint("s", len(p.services)), Status: Active}
	p.services = append(p.services, s)
	return s
}

func newPool(clusters ...string) *fakePool {
	p := &fakePool{revisions: map[string]*Revision{}}
	for _, text := range clusters {
		name, namespace, _ := strings.Cut(text, "=")
		p.clusters = append(p.clusters, &spec.Cluster{Name: name, Namespace: namespace, Status: spec.ClusterActive})
	}
	return p
}

func held(s *Service) (text string) {
	for _, n := range s.Names {
		text += fmt.Sprintf(" %s=%d", n.Name, n.Number)
	}
	return strings.TrimSpace(text)
}

// A name keeps its number as long as a deployment has it, and the lowest number that is free goes to the next name.
func TestNamesKeepTheirNumbers(t *testing.T) {
	p := newPool("prod")
	llm, db := p.service("prod"), p.service("prod")
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return p.deploy(llm, "prod", "http/LLM=chat:80") }, "chat.prod=2 llm.prod=3 |"},
		{func() error { return p.deploy(db, "prod", "sql=db.prod:5432", "admin/db=db:80") }, "chat.prod=2 llm.prod=3 | db.prod=4 sql.prod=5"},
		{func() error { return p.deploy(llm, "prod", "http/llm") }, "chat.prod=2 llm.prod=3 | db.prod=4 sql.prod=5"},
		{func() error { llm.Deployments = llm.Deployments[:1]; llm.LeaveNames(p); return nil }, "llm.prod=3 | db.prod=4 sql.prod=5"},
		{func() error { return p.deploy(db, "prod", "sql", "rest") }, "llm.prod=3 | db.prod=4 sql.prod=5 rest.prod=2"},
		{func() error { db.Status = Inactive; return p.deploy(llm, "prod", "http/sql") }, "llm.prod=3 sql.prod=2 | db.prod=4 sql.prod=5 rest.prod=2"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if got := strings.TrimSpace(held(llm) + " | " + held(db)); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// Who has a cluster's services takes names of that cluster's namespace that are free, and no others.
func TestNamesThatAServiceCannotHave(t *testing.T) {
	for _, c := range []struct {
		clusters  []string
		namespace string
		endpoint  string
		want      error
	}{
		{[]string{"lab"}, "lab", "http/free", nil},
		{[]string{"lab", "prod"}, "prod", "http/free", ErrNamespace},
		{[]string{"lab=prod", "prod"}, "prod", "http/free", nil},
		{[]string{"lab=prod", "prod"}, "lab", "http/free", ErrNamespace},
		{[]string{"lab", "prod=lab"}, "lab", "http/free", nil},
		{[]string{"Lab"}, "Lab", "http/free", ErrNamespace},
		{[]string{"lab=arn:aws:servicediscovery:eu-west-1:1:namespace/corp.example"}, "corp.example", "http/free", nil},
		{[]string{"lab"}, "lab", "http/taken", ErrNameTaken},
		{[]string{"lab"}, "lab", "http/free=taken:80", ErrNameTaken},
	} {
		p := newPool(c.clusters...)
		other := p.service("lab")
		other.Names = []Name{{"taken." + c.namespace, 2}}
		other.Deployments = []Deployment{{ID: "other"}}
		if err := p.deploy(p.service(p.clusters[0].Name), c.namespace, c.endpoint); !errors.Is(err, c.want) {
			t.Errorf("%v, %s in %s: %v, want %v", c.clusters, c.endpoint, c.namespace, err, c.want)
		}
	}
}

// A name is one label below its namespace, so no service hides a name of another domain, and an address is that of one endpoint.
func TestNamesThatAreNone(t *testing.T) {
	for _, endpoints := range [][]string{
		{"http=api.example.com:80"}, {"http=a.b:80"}, {"http/a.b"}, {"http/-a"}, {"http/" + strings.Repeat("a", 64)}, {"http/a b"}, {"http/*"},
		{"http/.lab"}, {"http", "other/http"}, {"http=x:80", "grpc=x:80"}, {"http/x=y:80", "grpc/y=x:80"},
	} {
		p := newPool("lab")
		if err := p.deploy(p.service("lab"), "lab", endpoints...); err == nil {
			t.Errorf("%v is taken", endpoints)
		}
	}
	p := newPool("lab")
	if err := p.deploy(p.service("lab"), "lab", "http=x:80", "grpc=x:81", "my_port"); err != nil {
		t.Error(err)
	}
}
