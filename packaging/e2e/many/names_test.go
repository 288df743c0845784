package many

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answering serves a page that says which task it is; asking asks for it by the alias and by the full name, and notes each answer.
const (
	answering = `mkdir /www && hostname > /www/index.html && exec httpd -f -p 8000 -h /www`
	asking    = `OUT=/w/$ME exec /w/asker chat llm.default`
)

// TestNamesOfServices has tasks in both modes of network on two hosts ask a service, whose replicas are on both, by its names.
func TestNamesOfServices(t *testing.T) {
	p := up(t, []string{"--gpus", "none"}, []string{"--gpus", "none"})
	p.build(t, "asker")
	p.serveNamed(t)
	askers := []string{"bridge-1", "bridge-2", "host-1", "host-2"}
	for _, name := range askers {
		mode, _, _ := strings.Cut(name, "-")
		run := namedRunTask("asks-"+mode, name)
		run["placementStrategy"] = []object{{"type": "spread", "field": "instanceId"}}
		p.mustCall(t, p.Hosts()[0], "RunTask", run, &object{})
	}
	t.Run("every task gets answers of both replicas", func(t *testing.T) {
		for _, replica := range p.replicas(t) {
			p.waitAnswers(t, askers, replica)
		}
	})
	t.Run("a replica that is stopped is replaced", func(t *testing.T) {
		stopped := p.replicas(t)[0]
		p.mustCall(t, p.Hosts()[0], "StopTask", object{"task": stopped}, &object{})
		eventually(t, "another replica runs", func() bool { return len(p.replicas(t)) == 2 && !strings.Contains(fmt.Sprint(p.replicas(t)), stopped) })
		for _, replica := range p.replicas(t) {
			p.waitAnswers(t, askers, replica)
		}
	})
	t.Run("their traffic moves to another revision, and no answer is missed", func(t *testing.T) {
		before := p.replicas(t)
		for _, name := range askers { // of what was asked while a replica was stopped
			for _, of := range []string{"chat", "llm.default"} {
				must(t, os.RemoveAll(filepath.Join(p.witness, name+"-"+of+".error")))
			}
		}
		p.mustCall(t, p.Hosts()[0], "UpdateService", object{"service": "llm", "forceNewDeployment": true, "placementConstraints": []object{}, "deploymentConfiguration": object{"strategy": "BLUE_GREEN", "bakeTimeInMinutes": 0}}, &object{})
		eventuallyWithin(t, rolloutTimeout, "the old replicas are gone", func() bool {
			now := p.replicas(t)
			return len(now) == 2 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
		})
		for _, replica := range p.replicas(t) {
			p.waitAnswers(t, askers, replica)
		}
		for _, name := range askers {
			if missed := p.note(name+"-chat.error") + p.note(name+"-llm.default.error"); missed != "" {
				t.Errorf("%s: %s", name, missed)
			}
		}
	})
	t.Run("nobody else reaches the virtual addresses of a host", p.testOthersReachNoName)
	t.Run("the names of a service that is gone are gone", func(t *testing.T) {
		p.mustCall(t, p.Hosts()[0], "DeleteService", object{"service": "llm", "force": true}, &object{})
		for _, name := range askers {
			eventually(t, name+" finds no name", func() bool { return strings.Contains(p.note(name+"-llm.default.error"), "no such host") })
		}
	})
}

// shop is a Compose file whose one service asks the other by its name in the file, at the port of the container, and keeps the answer.
const shop = `
name: shop
services:
  web:
    image: busybox
    command: [sh, -c, "mkdir /www && echo hello of web > /www/index.html && exec httpd -f -p 8000 -h /www"]
    expose: [8000]
  asker:
    image: busybox
    command: [sh, -c, "until wget -q -O /w/answer http://web:8000/; do sleep 1; done; exec sleep 9999"]
    volumes: ["WITNESS:/w"]
    depends_on: [web]
`

// TestServicesOfAComposeFileReachEachOther has Compose make both services of shop on two hosts.
func TestServicesOfAComposeFileReachEachOther(t *testing.T) {
	p := up(t, []string{"--gpus", "none"}, []string{"--gpus", "none"})
	file := filepath.Join(p.witness, "compose.yaml")
	must(t, os.WriteFile(file, []byte(strings.Replace(shop, "WITNESS", p.witness, 1)), 0o600))
	if out, err := p.sh(t, p.Hosts()[0], `pinion --data-dir "$0" compose -f `+file+` up -d`); err != nil || out != "shop-web\nshop-asker\n" {
		t.Fatalf("%q, %v", out, err)
	}
	eventually(t, "one has an answer of the other", func() bool { return p.note("answer") == "hello of web\n" })
}

// serveNamed makes a service with two replicas on two hosts, which is called llm and chat, and waits until it runs.
func (p *pool) serveNamed(t *testing.T) {
	t.Helper()
	h := p.Hosts()[0]
	register := func(family, mode, script string, ports ...object) {
		p.mustCall(t, h, "RegisterTaskDefinition", object{
			"family": family, "networkMode": mode, "volumes": []object{{"name": "w", "host": object{"sourcePath": p.witness}}},
			"containerDefinitions": []object{{
				"name": "main", "image": "busybox", "memory": 16, "command": []string{"sh", "-c", script}, "stopTimeout": 2, "portMappings": ports,
				"mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}},
			}},
		}, &object{})
	}
	register("answers", "bridge", answering, object{"containerPort": 8000, "name": "http", "appProtocol": "http"})
	register("asks-bridge", "bridge", asking)
	register("asks-host", "host", asking)
	p.mustCall(t, h, "CreateService", object{
		"serviceName": "llm", "taskDefinition": "answers", "desiredCount": 2, "placementConstraints": []object{{"type": "distinctInstance"}},
		"serviceConnectConfiguration": object{"enabled": true, "services": []object{{
			"portName": "http", "discoveryName": "llm", "clientAliases": []object{{"port": 80, "dnsName": "chat"}},
		}}},
	}, &object{})
	eventually(t, "the service runs", func() bool {
		var out struct{ Services []service }
		p.mustCall(t, h, "DescribeServices", object{"services": []string{"llm"}}, &out)
		return out.Services[0].Deployments[0].State == "COMPLETED"
	})
}

// replicas are the ids of the tasks of the service that run.
func (p *pool) replicas(t *testing.T) (ids []string) {
	t.Helper()
	for _, arn := range p.list(t, p.Hosts()[0], "ListTasks", object{"serviceName": "llm", "desiredStatus": "RUNNING"}) {
		ids = append(ids, arn[strings.LastIndex(arn, "/")+1:])
	}
	return ids
}

func (p *pool) note(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.witness, name))
	return string(text)
}

// waitAnswers waits until a replica has answered each of the tasks by both names.
func (p *pool) waitAnswers(t *testing.T, askers []string, replica string) {
	t.Helper()
	for _, asker := range askers {
		for _, name := range []string{"chat", "llm.default"} {
			eventually(t, fmt.Sprintf("%s gets an answer of %s from %s", asker, name, replica), func() bool {
				return strings.Contains(p.note(asker+"-"+name), replica[:12])
			})
		}
	}
}

// testOthersReachNoName has a machine of the network send what is for virtual addresses to a host that has them.
func (p *pool) testOthersReachNoName(t *testing.T) {
	has, other := p.Hosts()[0], p.Hosts()[1]
	const reach = "timeout 3 bash -c 'exec 3<>/dev/tcp/198.18.0.2/80'; echo $?"
	if out, err := p.sh(t, has, reach); err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Fatalf("the host itself: %v %s", err, out)
	}
	out, err := p.sh(t, other, fmt.Sprintf("ip route add 198.18.0.0/24 via %s && { %s; ip route del 198.18.0.0/24; }", has.IP, reach))
	if err != nil || strings.TrimSpace(string(out)) == "0" {
		t.Errorf("another host reaches them: %v %s", err, out)
	}
}
