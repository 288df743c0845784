package many

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestDocuments runs the cases of the documents that Pinion was made from which need several hosts, with the real AWS
// CLI and nothing but `eval "$(pinion env)"` before them, each through another host. S1.3 and so on are their names in
// the requirements. Two hosts are of a cluster of their own, small; the names of clusters are as free as in AWS.
func TestDocuments(t *testing.T) {
	p := up(t,
		[]string{"--gpus", "sim:8xh100"},
		[]string{"--gpus", "sim:8xh100", "--attribute", "ecs.instance-type=p2.xlarge"},
		[]string{"--gpus", "none", "--attribute", "kind=plain"},
		[]string{"--gpus", "sim:1xh100", "--cluster", "small"},
		[]string{"--gpus", "sim:1xh100", "--cluster", "small"},
	)
	aws[object](t, p, p.Hosts()[3], `aws ecs register-task-definition --cli-input-json file://gpu-1-taskdef.json`)
	t.Run("any host answers", p.testAnyHostAnswers)
	t.Run("S1.3 two hosts of one GPU run two tasks and refuse a third", p.testS13)
	t.Run("S1.4 four and eight GPUs are on two hosts", p.testS14)
	t.Run("S3.1 memberOf an instance type", p.testS31)
	t.Run("S3.3 hosts with GPUs and without", p.testS33)
}

func (p *pool) testAnyHostAnswers(t *testing.T) {
	for _, h := range p.Hosts() {
		got := aws[struct{ ContainerInstanceArns []string }](t, p, h, `aws ecs list-container-instances --cluster default`)
		if len(got.ContainerInstanceArns) != 3 {
			t.Errorf("%s lists %v", h.Name, got)
		}
	}
}

const runOne = `export cluster=small; aws ecs run-task --cluster $cluster --task-definition tensorflow-1-gpu`

func (p *pool) testS13(t *testing.T) {
	h := p.Hosts()[4]
	first, second := aws[tasks](t, p, h, runOne), aws[tasks](t, p, h, runOne)
	if len(first.Tasks) != 1 || len(second.Tasks) != 1 {
		t.Fatalf("got %v and %v", first, second)
	}
	a, b := first.Tasks[0], second.Tasks[0]
	if a.host() == b.host() || a.Containers[0].GPUs[0] == b.Containers[0].GPUs[0] {
		t.Errorf("both have the same place: %v, %v", a, b)
	}
	third := aws[tasks](t, p, h, runOne)
	if len(third.Tasks) != 0 || len(third.Failures) == 0 || third.Failures[0].Reason != "RESOURCE:GPU" {
		t.Errorf("the third: %v", third)
	}
	aws[object](t, p, h, `aws ecs stop-task --cluster small --task `+a.id())
	if _, err := p.sh(t, h, `aws ecs wait tasks-stopped --cluster small --tasks `+a.id()); err != nil {
		t.Fatal(err)
	}
	third = aws[tasks](t, p, h, runOne)
	if len(third.Tasks) != 1 || third.Tasks[0].Containers[0].GPUs[0] != a.Containers[0].GPUs[0] {
		t.Fatalf("after one has completed: %v, want the GPU of %v", third, a)
	}
	p.stopTasks(t, "small", b, third.Tasks[0])
}

// stopTasks stops tasks of a cluster and waits until they are stopped.
func (p *pool) stopTasks(t *testing.T, cluster string, running ...task) {
	t.Helper()
	for _, one := range running {
		p.mustCall(t, p.Hosts()[0], "StopTask", object{"cluster": cluster, "task": one.id()}, &object{})
	}
	for _, one := range running {
		eventually(t, "task "+one.id()+" has stopped", func() bool {
			var answer tasks
			p.mustCall(t, p.Hosts()[0], "DescribeTasks", object{"cluster": cluster, "tasks": []string{one.id()}}, &answer)
			return len(answer.Tasks) == 1 && answer.Tasks[0].LastStatus == "STOPPED"
		})
	}
}

// testS14 asks for less memory than the document, 128 GiB, which few machines that run tests have.
func (p *pool) testS14(t *testing.T) {
	h := p.Hosts()[2]
	four := aws[tasks](t, p, h, `aws ecs register-task-definition --cli-input-json file://gpu-4-taskdef.json >/dev/null; aws ecs run-task --cluster default --task-definition tensorflow-4-gpu`)
	eight := aws[tasks](t, p, h, `aws ecs register-task-definition --cli-input-json "$(sed 's/131072/1024/' gpu-8-taskdef.json)" >/dev/null; aws ecs run-task --cluster default --task-definition tensorflow-8-gpu`)
	defer p.stopTasks(t, "default", slices.Concat(four.Tasks, eight.Tasks)...)
	if len(four.Tasks) != 1 || len(eight.Tasks) != 1 {
		t.Fatalf("got %v and %v", four, eight)
	}
	a, b := four.Tasks[0], eight.Tasks[0]
	gpus := slices.Concat(a.Containers[0].GPUs, b.Containers[0].GPUs)
	slices.Sort(gpus)
	if len(a.Containers[0].GPUs) != 4 || len(slices.Compact(gpus)) != 12 || a.host() == b.host() {
		t.Errorf("got %v and %v", a, b)
	}
	p.wait(t, h, a.id(), "RUNNING")
	p.wait(t, h, b.id(), "RUNNING")
}

// constrained is the command of the document.
const constrained = `aws ecs run-task --cluster default --task-definition ecs-gpu-task-def --placement-constraints type=memberOf,expression="attribute:ecs.instance-type == p2.xlarge" --region us-east-2`

func (p *pool) testS31(t *testing.T) {
	h := p.Hosts()[3]
	p.define(t, "ecs-gpu-task-def", 1, "sleep 1000")
	got := aws[tasks](t, p, h, constrained)
	defer p.stopTasks(t, "default", got.Tasks...)
	hosts, err := p.hostsByName(h)
	must(t, err)
	if len(got.Tasks) != 1 || got.Tasks[0].host() != hosts["host2"].ID {
		t.Fatalf("got %v, want it on host2, %s", got, hosts["host2"].ID)
	}
	p.wait(t, h, got.Tasks[0].id(), "RUNNING")
	other := aws[tasks](t, p, h, strings.Replace(constrained, "p2.xlarge", "p3.2xlarge", 1))
	reasons := map[string]string{}
	for _, f := range other.Failures {
		reasons[f.ARN[strings.LastIndex(f.ARN, "/")+1:]] = f.Reason
	}
	// Resources are looked at first, as in ECS: host3 has no GPU.
	want := map[string]string{hosts["host1"].ID: unsatisfied, hosts["host2"].ID: unsatisfied, hosts["host3"].ID: "RESOURCE:GPU"}
	if len(other.Tasks) != 0 || !maps.Equal(reasons, want) {
		t.Errorf("on a type that no host has: %v, want %v", other, want)
	}
}

const unsatisfied = "MemberOf placement constraint unsatisfied."

func (p *pool) testS33(t *testing.T) {
	const show = `ls /dev; echo "visible=$NVIDIA_VISIBLE_DEVICES"; echo "caps=$NVIDIA_DRIVER_CAPABILITIES"`
	p.define(t, "look", 0, show)
	for expression, gpus := range map[string]int{"attribute:kind == plain": 0, "attribute:ecs.instance-type == p2.xlarge": 0, "": 2} {
		family := "look"
		if gpus > 0 {
			family = "look-gpus"
			p.define(t, family, gpus, show)
		}
		in := object{"taskDefinition": family, "overrides": object{"containerOverrides": []object{{"name": "main",
			"environment": []object{{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute"}}}}}}
		if expression != "" {
			in["placementConstraints"] = []object{{"type": "memberOf", "expression": expression}}
		}
		var answer tasks
		p.mustCall(t, p.Hosts()[4], "RunTask", in, &answer)
		if len(answer.Tasks) != 1 {
			t.Fatalf("%q: %v", expression, answer)
		}
		done := p.wait(t, p.Hosts()[4], answer.Tasks[0].id(), "STOPPED")
		log, err := p.Hosts()[2].Pinion("logs", done.id()) // root of an agent reads what its own cluster runs
		must(t, err)
		visible := "void"
		if gpus > 0 {
			visible = strings.Join(done.Containers[0].GPUs, ",")
		}
		if !strings.Contains(log, "visible="+visible+"\n") || !strings.Contains(log, "caps=compute\n") || len(done.Containers[0].GPUs) != gpus {
			t.Errorf("%q with %d GPUs: %v\n%s", expression, gpus, done, log)
		}
		if gpus == 0 && strings.Contains(log, "nvidia") {
			t.Errorf("%q: a task that asked for no GPU sees\n%s", expression, log)
		}
	}
}
