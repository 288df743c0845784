package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
	"pinion/server/id"
	"pinion/server/metrics"
	"pinion/server/schedule/batch"
)

// newBackend is that of a server that leads, with the hosts mine and other, and a task of each with its name.
func newBackend(t *testing.T) (*Backend, *raftfsm.State) {
	t.Helper()
	server, host := &fakeServer{state: raftfsm.NewState()}, &fakeHost{}
	commands := []raftfsm.Command{raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "default", Status: spec.ClusterActive}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64}}}}}
	for _, id := range []string{"mine", "other"} {
		task := &spec.Task{ID: id, Cluster: "default", Definition: "f:1", HostID: id, LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, Containers: []spec.Container{{Name: "c"}}}
		commands = append(commands, raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: "default"}},
			raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}}}})
	}
	for _, c := range commands {
		if _, err := server.Propose(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return NewBackend(server, host, fakePoolInfo{}, nil, nil, metrics.NewStore(), nil), server.state
}

func TestAHostThatSaysTooMuchOfItselfIsRefused(t *testing.T) {
	b, state := newBackend(t)
	before := state.View().Index()
	large := spec.Host{ID: "mine", Name: "mine", Cluster: "default", Attributes: map[string]string{"a": strings.Repeat("x", maxHostBytes)}}
	if _, err := b.Register(t.Context(), Registration{Host: large}); err == nil || state.View().Index() != before {
		t.Errorf("it is recorded: %v", err)
	}
	large.Attributes["a"] = large.Attributes["a"][:maxHostBytes/2]
	if _, err := b.Register(t.Context(), Registration{Host: large}); err != nil {
		t.Errorf("half of that: %v", err)
	}
	for _, h := range []spec.Host{{CPU: -1}, {MemoryMiB: -1}, {CPU: math.MaxInt64}, {MemoryMiB: math.MaxInt64}} {
		h.ID, h.Name, h.Cluster = "mine", "mine", "default"
		if _, err := b.Register(t.Context(), Registration{Host: h}); err == nil {
			t.Errorf("%d CPU units and %d MiB are believed", h.CPU, h.MemoryMiB)
		}
	}
}

func TestAHostIsNotBelievedGPUsThatNoMachineHas(t *testing.T) {
	b, _ := newBackend(t)
	one := gpu.Device{UUID: "GPU-1", Health: gpu.Healthy, MemoryMiB: 81559, Links: gpu.PackLinks(gpu.Link{Peer: "GPU-2", Kind: gpu.LinkNVLink, Lanes: 18})}
	many := make([]gpu.Device, maxGPUs+1)
	for i := range many {
		many[i].UUID = fmt.Sprint("GPU-", i)
	}
	changed := func(change func(*gpu.Device)) []gpu.Device {
		d := one
		change(&d)
		return []gpu.Device{d}
	}
	for name, devices := range map[string][]gpu.Device{
		"too many": many, "one twice": {one, one}, "one without a name": changed(func(d *gpu.Device) { d.UUID = "" }),
		"negative memory": changed(func(d *gpu.Device) { d.MemoryMiB = -1 }), "endless memory": changed(func(d *gpu.Device) { d.MemoryMiB = math.MaxInt64 }),
		"a MIG device without a profile": changed(func(d *gpu.Device) { d.MIGDevice = &gpu.MIGDevice{Parent: "GPU-2"} }),
		"endless memory of its GPU": changed(func(d *gpu.Device) {
			d.MIGDevice = &gpu.MIGDevice{Parent: "GPU-2", Profile: "1g.10gb", ParentMemoryMiB: math.MaxInt64}
		}),
		"negative lanes": changed(func(d *gpu.Device) { d.Links = gpu.PackLinks(gpu.Link{Lanes: -1}) }),
		"endless lanes":  changed(func(d *gpu.Device) { d.Links = gpu.PackLinks(gpu.Link{Lanes: math.MaxInt32}) }),
	} {
		h := spec.Host{ID: "mine", Name: "mine", Cluster: "default", GPUs: gpu.Inventory{Devices: devices}}
		if _, err := b.Register(t.Context(), Registration{Host: h}); err == nil {
			t.Errorf("%s: it is recorded", name)
		}
	}
	h := spec.Host{ID: "mine", Name: "mine", Cluster: "default", GPUs: gpu.Inventory{Devices: []gpu.Device{one}}}
	if _, err := b.Register(t.Context(), Registration{Host: h}); err != nil {
		t.Error(err)
	}
}

// An element of a list is two bytes in a message, and hundreds of bytes when it is decoded.
func TestAMessageThatIsLargeOnlyDecodedIsRefused(t *testing.T) {
	many := func(element string) string { return strings.Repeat(element+",", 2*fewElements) + element }
	var members strings.Builder
	for i := range maxMembers + 2 {
		fmt.Fprintf(&members, `%q:0,`, strconv.Itoa(i))
	}
	for name, text := range map[string]string{
		"reports": `{"seq":1,"reports":[` + many("{}") + `]}`, "nothings": `{"seq":1,"reports":[` + many("null") + `]}`,
		"containers": `{"seq":1,"reports":[{"containers":[` + many("null") + `]}]}`, "tasks that it runs": `{"handshake":{"running":[` + many("{}") + `]}}`,
		"ports": `{"handshake":{"host":{"ports":[` + many("0") + `]}}}`, "assignments": `{"handshake":{"known":{` + members.String() + `"a":0}}}`,
		"depth": strings.Repeat("[", maxElements+1),
	} {
		if _, err := checkShape([]byte(text)); !errors.Is(err, errTooMuch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sparse := `{"seq":1,"reports":[` + strings.Repeat(`{"taskId":"0123456789abcdef"},`, maxElements) + `{}]}`
	if _, err := checkShape([]byte(sparse)); !errors.Is(err, errTooMuch) {
		t.Errorf("more elements than a host has, however long they are: %v", err)
	}
	if size, err := checkShape([]byte(`{"seq":1,"reports":[` + strings.Repeat("{},", fewElements-2) + `{}]}`)); err != nil || size <= largeMessage {
		t.Errorf("as many elements as a short message has count for %d bytes, %v: many such are handled at once", size, err)
	}
	read := newMessageReader(strings.NewReader(`{"seq":1,"reports":[` + many("{}") + `]}`))
	if err := read.nextOfHost(&agentMessage{}); !errors.Is(err, errTooMuch) {
		t.Errorf("it is decoded: %v", err)
	}
}

// A host with more tasks than any can have says what they do, and commas in texts count for nothing.
func TestAMessageOfAHostWithManyTasksIsRead(t *testing.T) {
	status := spec.ContainerReport{Name: "c", Status: spec.Running, Reason: `\",[{` + strings.Repeat(",", 100), Bindings: make([]spec.NetworkBinding, 2)}
	sent := agentMessage{Seq: 1}
	for i := range 10_000 {
		sent.Reports = append(sent.Reports, spec.TaskReport{TaskID: fmt.Sprintf("%032d", i), Status: spec.Running, Containers: []spec.ContainerReport{status, status}})
	}
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var got agentMessage
	if err := newMessageReader(bytes.NewReader(text)).nextOfHost(&got); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%d of %d reports, %v", len(got.Reports), len(sent.Reports), err)
	}
}

// The log has one report of each task, and tells a host of so many tasks that are not its own.
func TestReportsOfOneTaskAreRecordedOnce(t *testing.T) {
	_, state := newBackend(t)
	reports := []spec.TaskReport{{TaskID: "mine", Status: spec.Pending}, {Status: spec.Running}, {TaskID: "mine", Status: spec.Running}}
	for i := range 2 * maxUnknown {
		reports = append(reports, spec.TaskReport{TaskID: fmt.Sprint("nobody's-", i)})
	}
	got := boundedReports(state.View(), "mine", reports)
	if len(got) != maxUnknown+1 || got[0].TaskID != "mine" || got[0].Status != spec.Running {
		t.Errorf("%d are proposed, the first is %+v", len(got), got[0])
	}
}

// One host keeps neither others' reports from the leader, nor a server's memory.
func TestTheReportsOfOneHostDoNotHoldUpThoseOfOthers(t *testing.T) {
	request := reportRequest{Host: "mine", Reports: []spec.TaskReport{{TaskID: "a", StoppedReason: strings.Repeat("x", maxSharedReports)}}}
	if request.size() <= maxSharedReports {
		t.Error("a large report goes together with those of others")
	}
	if text, err := json.Marshal(slices.Repeat([]spec.TaskReport{{Containers: make([]spec.ContainerReport, 3)}}, 10)); err != nil || len(text) > (reportRequest{Reports: slices.Repeat([]spec.TaskReport{{Containers: make([]spec.ContainerReport, 3)}}, 10)}).size() {
		t.Errorf("reports of %d bytes count for fewer, %v", len(text), err)
	}
}

func TestAHostHasSoManySessions(t *testing.T) {
	var open hostSessions
	var ends []func()
	for range maxHostSessions {
		done, ok := open.add("mine")
		if !ok {
			t.Fatal("it is refused")
		}
		ends = append(ends, done)
	}
	if _, ok := open.add("mine"); ok {
		t.Error("one more is let in")
	}
	if _, ok := open.add("other"); !ok {
		t.Error("another host is refused")
	}
	ends[0]()
	if _, ok := open.add("mine"); !ok {
		t.Error("it is refused after one has ended")
	}
}

// What a host reports is written down by every server: of its own tasks what there is to say, and of others that it knows of them.
func TestReportsAreRecordedWithinBounds(t *testing.T) {
	b, state := newBackend(t)
	much := strings.Repeat("x", 1<<20)
	container := spec.ContainerReport{Name: "c", Reason: much, RuntimeID: much, ImageDigest: much, Bindings: make([]spec.NetworkBinding, 10_000)}
	report := spec.TaskReport{Status: spec.Running, StoppedReason: much, Containers: slices.Repeat([]spec.ContainerReport{container}, 10)}
	var reports []spec.TaskReport
	for _, id := range []string{"mine", "other", "nobody's", much} {
		report.TaskID = id
		reports = append(reports, report)
	}
	text, err := json.Marshal(boundedReports(state.View(), "mine", reports))
	if err != nil || len(text) > 64<<10 {
		t.Errorf("%d bytes are proposed, %v", len(text), err)
	}
	unknown, err := b.Report(t.Context(), "mine", reports)
	if slices.Sort(unknown); err != nil || !slices.Equal(unknown, []string{"nobody's", "other"}) {
		t.Errorf("%d are unknown: %v", len(unknown), err)
	}
	if mine, other := state.View().Task("mine"), state.View().Task("other"); mine.LastStatus != spec.Running || other.LastStatus != spec.Pending {
		t.Errorf("the tasks are %s and %s", mine.LastStatus, other.LastStatus)
	}
}

// Why a task ended, and which image its run has, is a host's word within limits: a preempted task is run again as often as it ends, and a
// digest is pulled by other hosts.
func TestAHostSaysNothingThatOthersActOn(t *testing.T) {
	b, state := newBackend(t)
	digest := "sha256:" + strings.Repeat("0a", 32)
	for said, want := range map[string]string{digest: digest, "sha256:0a": "", "latest": "", digest + "/../other": "", "sha512:" + strings.Repeat("0a", 64): ""} {
		got := boundedReport(spec.TaskReport{Containers: []spec.ContainerReport{{Name: "c", ImageDigest: said}}}, 1, nil)
		if got.Containers[0].ImageDigest != want {
			t.Errorf("%.80s is taken for the digest %.80q", said, got.Containers[0].ImageDigest)
		}
	}
	preempted := spec.TaskReport{TaskID: "mine", Status: spec.Stopped, StopCode: spec.StopPreempted, StoppedReason: "says the host"}
	if _, err := b.Report(t.Context(), "mine", []spec.TaskReport{preempted}); err != nil {
		t.Fatal(err)
	}
	task := state.View().Task("mine")
	if task.LastStatus != spec.Stopped || task.StopCode == spec.StopPreempted || task.StoppedReason != preempted.StoppedReason {
		t.Errorf("it is %s by %s: %s", task.LastStatus, task.StopCode, task.StoppedReason)
	}
	if again := batch.Retry(state.View(), task, time.Time{}, id.New); again != nil {
		t.Errorf("%d tasks take its place, which no limit counts", len(again))
	}
}

// The oldest hosts are the first to become servers: their age is the leader's word.
func TestAHostDoesNotSayHowOldItIs(t *testing.T) {
	b, state := newBackend(t)
	if _, err := b.Register(t.Context(), Registration{Host: spec.Host{ID: "new", Name: "new", Cluster: "default", RegisteredAt: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	if at := state.View().Host("new").RegisteredAt; at.Equal(time.Unix(1, 0)) {
		t.Errorf("it is there since %s", at)
	}
}

// A host that describes itself without end is put off, and keeps no other one from it.
func TestAHostDescribesItselfNoMoreThanOnceASecond(t *testing.T) {
	b, state := newBackend(t)
	describe := func(id string) error {
		_, err := b.Register(t.Context(), Registration{Host: spec.Host{ID: id, Name: id, Cluster: "default"}})
		return err
	}
	recorded, before := 0, state.View().Index()
	for range 10 * registrationBurst {
		switch err := describe("loud"); {
		case err == nil:
			recorded++
		case !errors.Is(err, spec.ErrBusy):
			t.Fatal(err)
		}
	}
	if recorded < registrationBurst || recorded > 2*registrationBurst {
		t.Errorf("%d of %d descriptions were taken, entries %d to %d", recorded, 10*registrationBurst, before, state.View().Index())
	}
	if err := describe("quiet"); err != nil {
		t.Error(err)
	}
}

// The address of a task is its host's word within the host's own subnet: requests to the task go there from all hosts.
func TestAHostHasNoTasksAtTheAddressesOfOthers(t *testing.T) {
	network := &tasknetwork.Network{Subnet: "10.32.7.0/24"}
	for said, want := range map[string]string{"10.32.7.9": "10.32.7.9", "10.32.8.9": "", "127.0.0.1": "", "": "", "::ffff:10.32.7.9": "", "x": ""} {
		for _, of := range []*tasknetwork.Network{network, {}, nil} {
			got := boundedReport(spec.TaskReport{Containers: []spec.ContainerReport{{Name: "c", Address: said}}}, 1, of).Containers[0].Address
			if of == network && got != want || of != network && got != "" {
				t.Errorf("%q is taken for %q in %v", said, got, of)
			}
		}
	}
	for _, n := range []tasknetwork.Network{{Name: "lab", Range: "0.0.0.0/0"}, {Name: "x' or", Range: "10.32.0.0/16"}, {}} {
		if err := checkHost(&spec.Host{ID: "h", Name: "h", TaskNetwork: &n}); err == nil {
			t.Errorf("a host may have the network %+v", n)
		}
	}
}
