package many

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// networkedTask is what DescribeTasks tells of a task with an address of its own.
type networkedTask struct {
	task
	Attachments []struct {
		Status  string
		Details []struct{ Name, Value string }
	}
}

func (t networkedTask) address() string {
	for _, a := range t.Attachments {
		for _, d := range a.Details {
			if d.Name == "privateIPv4Address" {
				return d.Value
			}
		}
	}
	return ""
}

// taskNetwork is a pool of three hosts, of which two are in a network of tasks.
type taskNetwork struct {
	*pool
	webs []networkedTask // on both
}

const frontPort = 8088

// TestTasksHaveAddressesOfTheirOwn has tasks of networkMode awsvpc on two hosts reach one another at their addresses.
func TestTasksHaveAddressesOfTheirOwn(t *testing.T) {
	with := []string{"--gpus", "none", "--task-network", "lab=10.99.0.0/16"}
	n := &taskNetwork{pool: up(t, slices.Clone(with), slices.Clone(with), []string{"--gpus", "none"})}
	n.serve(t)
	t.Run("each has another address, out of the subnet of its host", n.testAddresses)
	t.Run("containers are told their address", n.testMetadata)
	t.Run("containers of a task share one network", func(t *testing.T) {
		for _, web := range n.webs {
			eventually(t, "the one gets an answer of the other", func() bool { return strings.Contains(n.note("beside-"+web.id()[:12]), web.id()[:12]) })
		}
	})
	for _, mode := range []string{"awsvpc", "bridge", "host"} {
		t.Run("tasks in mode "+mode+" reach those of both hosts", func(t *testing.T) { n.testReached(t, mode) })
	}
	t.Run("a load balancer reaches them through every host of the network", n.testBalanced)
	t.Run("a host that starts anew keeps the addresses, and the routes", n.testRestart)
	t.Run("routes to a host that is gone go, too", n.testHostGone)
}

// serve runs a service of two tasks, each of which says at port 80 which it is. A second container of each notes what it gets there.
func (n *taskNetwork) serve(t *testing.T) {
	t.Helper()
	h := n.Hosts()[0]
	container := func(name, script string, more object) object {
		c := object{"name": name, "image": "busybox", "memory": 16, "command": []string{"sh", "-c", script}, "stopTimeout": 2, "mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}}}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	register := func(family, mode string, containers ...object) {
		n.mustCall(t, h, "RegisterTaskDefinition", object{
			"family": family, "networkMode": mode, "volumes": []object{{"name": "w", "host": object{"sourcePath": n.witness}}}, "containerDefinitions": containers,
		}, &object{})
	}
	register("web", "awsvpc",
		container("web", "mkdir /www && hostname > /www/index.html && exec httpd -f -p 80 -h /www", object{"portMappings": []object{{"containerPort": 80}}}),
		container("beside", `until wget -qO /w/beside-$(hostname) http://127.0.0.1/; do usleep 100000; done; exec sleep 9999`, nil))
	for _, mode := range []string{"awsvpc", "bridge", "host"} {
		register("asks-"+mode, mode, container("main", `for a in $ASKED; do until wget -qO /w/asked-$ME-$a http://$a/; do usleep 100000; done; done; exec sleep 9999`, nil))
	}
	out, err := n.sh(t, h, fmt.Sprintf(`set -e
tg=$(aws elbv2 create-target-group --name web --protocol HTTP --port 80 --target-type ip --health-check-interval-seconds 5 --query 'TargetGroups[0].TargetGroupArn' --output text)
lb=$(aws elbv2 create-load-balancer --name front --subnets any --query 'LoadBalancers[0].LoadBalancerArn' --output text)
aws elbv2 create-listener --load-balancer-arn $lb --protocol HTTP --port %d --default-actions Type=forward,TargetGroupArn=$tg >/dev/null
aws ecs create-service --service-name web --task-definition web --desired-count 2 --placement-strategy type=spread,field=instanceId \
  --network-configuration 'awsvpcConfiguration={subnets=[lab]}' --load-balancers targetGroupArn=$tg,containerName=web,containerPort=80 >/dev/null
aws ecs wait services-stable --services web`, frontPort))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n.webs = n.running(t)
}

// running are the tasks of the service that run, with their addresses.
func (n *taskNetwork) running(t *testing.T) (all []networkedTask) {
	t.Helper()
	arns := n.list(t, n.Hosts()[0], "ListTasks", object{"serviceName": "web", "desiredStatus": "RUNNING"})
	var out struct{ Tasks []networkedTask }
	n.mustCall(t, n.Hosts()[0], "DescribeTasks", object{"tasks": arns}, &out)
	return out.Tasks
}

func (n *taskNetwork) testAddresses(t *testing.T) {
	subnets := map[string]netip.Prefix{}
	var hosts []struct {
		ID, Name    string
		TaskNetwork *struct{ Name, Subnet string }
	}
	must(t, n.get(n.Hosts()[0], "hosts", &hosts))
	for _, h := range hosts {
		if h.TaskNetwork != nil && h.TaskNetwork.Subnet != "" {
			subnets[h.ID] = netip.MustParsePrefix(h.TaskNetwork.Subnet)
		}
	}
	if len(subnets) != 2 || len(n.webs) != 2 || n.webs[0].host() == n.webs[1].host() {
		t.Fatalf("the subnets are %v, the tasks %v", subnets, n.webs)
	}
	for _, web := range n.webs {
		if a, err := netip.ParseAddr(web.address()); err != nil || !subnets[web.host()].Contains(a) {
			t.Errorf("%s has %q, its host %v", web, web.address(), subnets[web.host()])
		}
	}
}

// testMetadata asks the task metadata endpoint from each container of the tasks.
func (n *taskNetwork) testMetadata(t *testing.T) {
	for _, web := range n.webs {
		for _, name := range []string{"web", "beside"} {
			out, err := n.sh(t, n.Hosts()[0], fmt.Sprintf(`pinion exec --container %s %s -- sh -c 'wget -qO- $ECS_CONTAINER_METADATA_URI_V4'`, name, web.id()))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var told struct {
				Name     string
				Networks []struct {
					NetworkMode                                   string
					IPv4Addresses                                 []string
					AttachmentIndex                               *int
					IPv4SubnetCIDRBlock, SubnetGatewayIpv4Address string
				}
			}
			must(t, json.Unmarshal([]byte(out), &told))
			if told.Name != name || len(told.Networks) != 1 {
				t.Fatalf("%s of %s is told %s", name, web, out)
			}
			in := told.Networks[0]
			subnet, err := netip.ParsePrefix(in.IPv4SubnetCIDRBlock)
			must(t, err)
			address := netip.MustParseAddr(web.address())
			if in.NetworkMode != "awsvpc" || !slices.Equal(in.IPv4Addresses, []string{web.address()}) || in.AttachmentIndex == nil || *in.AttachmentIndex != 0 ||
				!subnet.Contains(address) || in.SubnetGatewayIpv4Address != netip.PrefixFrom(subnet.Addr().Next(), subnet.Bits()).String() {
				t.Errorf("%s of %s is told %+v", name, web, in)
			}
			out, err = n.sh(t, n.Hosts()[0], fmt.Sprintf(`pinion exec --container %s %s -- ip route show default`, name, web.id()))
			if gateway, _, _ := strings.Cut(in.SubnetGatewayIpv4Address, "/"); err != nil || !strings.Contains(out, "via "+gateway+" ") {
				t.Errorf("its way out is %q, %v", out, err)
			}
		}
	}
}

func (n *taskNetwork) testReached(t *testing.T, mode string) {
	var asked []string
	for _, web := range n.webs {
		asked = append(asked, web.address())
	}
	run := object{
		"taskDefinition": "asks-" + mode, "placementConstraints": []object{{"type": "memberOf", "expression": "attribute:ecs.subnet-id == lab"}},
		"overrides": object{"containerOverrides": []object{{"name": "main", "environment": []object{{"name": "ME", "value": mode}, {"name": "ASKED", "value": strings.Join(asked, " ")}}}}},
	}
	if mode == "awsvpc" {
		run["networkConfiguration"] = object{"awsvpcConfiguration": object{"subnets": []string{"lab"}}}
	}
	var started tasks
	if n.mustCall(t, n.Hosts()[2], "RunTask", run, &started); len(started.Tasks) != 1 {
		t.Fatalf("%+v", started.Failures)
	}
	for _, web := range n.webs {
		eventually(t, "it gets an answer of "+web.id(), func() bool { return strings.Contains(n.note("asked-"+mode+"-"+web.address()), web.id()[:12]) })
	}
}

// answered asks the listener of a host until each of the tasks has answered.
func (n *taskNetwork) answered(t *testing.T, h *testbed.Host) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: n.Dial}}
	for _, web := range n.webs {
		eventually(t, "the listener of "+h.Name+" leads to "+web.id(), func() bool {
			answer, err := client.Get("http://" + net.JoinHostPort(h.IP.String(), fmt.Sprint(frontPort)))
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			return err == nil && strings.Contains(string(text), web.id()[:12])
		})
	}
}

func (n *taskNetwork) testBalanced(t *testing.T) {
	for _, h := range n.Hosts()[:2] {
		n.answered(t, h)
	}
}

func (n *taskNetwork) testRestart(t *testing.T) {
	for _, h := range n.Hosts()[:2] {
		must(t, h.Kill(t.Context()))
		must(t, h.Run(exec.Command("ip", "route", "flush", "proto", "75")))
		n.start(t, h)
		n.waitConverged(t)
	}
	for i, web := range n.running(t) {
		if !slices.ContainsFunc(n.webs, func(known networkedTask) bool { return known.id() == web.id() && known.address() == web.address() }) {
			t.Errorf("task %d became %s at %s", i, web, web.address())
		}
	}
	for _, h := range n.Hosts()[:2] {
		n.answered(t, h)
	}
}

func (n *taskNetwork) testHostGone(t *testing.T) {
	stays, goes := n.Hosts()[0], n.Hosts()[1]
	if out, err := n.sh(t, stays, "ip route show proto 75"); err != nil || !strings.Contains(out, " via "+goes.IP.String()+" ") {
		t.Fatalf("%v, the routes are %q", err, out)
	}
	must(t, goes.Kill(t.Context()))
	if _, err := stays.Pinion("hosts", "rm", "--force", goes.Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its route is gone", func() bool {
		out, err := n.sh(t, stays, "ip route show proto 75")
		return err == nil && strings.TrimSpace(out) == ""
	})
}
